#!/usr/bin/env python3
"""Makes the pictures of the README from a results document of a real run.

  scripts/pictures.py KBENCH

docs/pictures/terminal.svg is what `kbench report RESULTS.json` prints on a terminal, character by
character; docs/pictures/report.png is the page that it writes with `-o`, as a headless Chromium
draws it (chromium-headless-shell, or the one that KBENCH_BROWSER names). pngquant makes the second
one small where it is installed. docs/pictures/trace.svg is the Chrome trace TRACE, a row for each of
its tracks.
"""
import fcntl
import html
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = "docs/measurements/2026-12-01-h200/leaderboard-qr_v2-blocked.json"
TRACE = "docs/traces/qr_v2-blocked-4x352.json"
COLUMNS = 126
PAGE_SIZE = "1500,2400"
STYLES = {"1": "font-weight:bold", "2": "fill:#6a737d", "31": "fill:#b31d28",
          "32": "fill:#1a7f37", "33": "fill:#8a5a00"}


def on_terminal(command):
    """What a command writes on a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = dict(os.environ, TERM="xterm-256color")
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, cwd=ROOT, stdin=follower, stdout=follower,
                               stderr=follower, env=environment)
    os.close(follower)
    written = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    if process.wait() != 0:
        sys.exit(written.decode())
    return written.decode().replace("\r\n", "\n")


def svg_of(text):
    width, height, size = 7.8, 17, 13
    lines = text.rstrip("\n").split("\n")
    body = []
    for row, line in enumerate(lines):
        column, style = 0, ""
        for part in re.split("(\x1b\\[[0-9]*m)", line):
            if part.startswith("\x1b"):
                style = STYLES.get(part[2:-1], "")
                continue
            # Runs of blanks need no ink: what stands between them is placed by its column.
            for word in re.finditer(r"\S+(?: \S+)*", part):
                words = word.group()
                body.append(
                    f'<text x="{12 + (column + word.start()) * width:.1f}" '
                    f'y="{24 + row * height}" textLength="{len(words) * width:.1f}"'
                    f'{f" style={chr(34)}{style}{chr(34)}" if style else ""}>'
                    f"{html.escape(words)}</text>")
            column += len(part)
    columns = max(len(re.sub("\x1b\\[[0-9]*m", "", line)) for line in lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 + columns * width:.0f} '
            f'{20 + len(lines) * height}" font-family="ui-monospace, Menlo, Consolas, '
            f'\'DejaVu Sans Mono\', monospace" font-size="{size}" fill="#1f2328">\n'
            '<rect width="100%" height="100%" rx="6" fill="#f6f8fa" stroke="#d0d7de"/>\n'
            + "\n".join(body) + "\n</svg>\n")


def short_name(event):
    """A kernel without its types; other events as they are called."""
    name = event["name"].removeprefix("flush: ").removeprefix("void ")
    name = re.sub(r"\(anonymous namespace\)::", "", name)
    name = re.split(r"[<(]", name)[0].split("::")[-1]
    return ("flush: " if event["cat"] == "flush" else "") + name


def svg_of_trace(events):
    fills = ["#9ec5fe", "#a3d9a5", "#ffd58a", "#e0b3f0", "#f5b5b0", "#c9d1d9"]
    left, width, height, bar = 215, 1000, 34, 22
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events
             if e["ph"] == "M" and e["name"] == "thread_name"}
    bars = [e for e in events if e["ph"] == "X"]
    tracks = sorted({(e["pid"], e["tid"]) for e in bars})
    end = max(e["ts"] + e["dur"] for e in bars)
    kinds = list(dict.fromkeys(short_name(e) for e in bars if e["cat"] in ("kernel", "flush")))
    fill = {kind: fills[k % len(fills)] for k, kind in enumerate(kinds)}
    bottom = 40 + len(tracks) * height
    body = []
    for tick in range(0, int(end) + 1, 50):
        x = left + tick / end * width
        body.append(f'<line x1="{x:.1f}" y1="24" x2="{x:.1f}" y2="{bottom}" stroke="#d8dee4"/>'
                    f'<text x="{x:.1f}" y="18" text-anchor="middle">{tick} us</text>')
    for row, track in enumerate(tracks):
        y = 34 + row * height
        body.append(f'<text x="12" y="{y + 15}">{html.escape(names[track])}</text>')
        for event in (e for e in bars if (e["pid"], e["tid"]) == track):
            x, long = left + event["ts"] / end * width, max(event["dur"] / end * width, 1)
            name = short_name(event)
            body.append(f'<rect x="{x:.1f}" y="{y}" width="{long:.1f}" height="{bar}" '
                        f'fill="{fill.get(name, "#e6e9ed")}" stroke="#57606a" stroke-width="0.5">'
                        f'<title>{html.escape(event["name"])}: {event["dur"]:.1f} us</title></rect>')
            if event["cat"] not in ("kernel", "flush") and long > 8 * len(name):
                body.append(f'<text x="{x + 5:.1f}" y="{y + 15}">{html.escape(name)}</text>')
    x = left
    for kind in kinds:
        body.append(f'<rect x="{x}" y="{bottom + 10}" width="14" height="14" fill="{fill[kind]}" '
                    f'stroke="#57606a" stroke-width="0.5"/>'
                    f'<text x="{x + 20}" y="{bottom + 22}">{html.escape(kind)}</text>')
        x += 50 + 8 * len(kind)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} '
            f'{bottom + 36}" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', '
            'monospace" font-size="13" fill="#1f2328">\n'
            '<rect width="100%" height="100%" rx="6" fill="#f6f8fa" stroke="#d0d7de"/>\n'
            + "\n".join(body) + "\n</svg>\n")


def page_picture(kbench, png):
    browser = os.environ.get("KBENCH_BROWSER", "chromium-headless-shell")
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        # From its folder, so that the page shows the bare name.
        subprocess.run([kbench, "report", os.path.basename(RESULTS), "-o", page], check=True,
                       cwd=os.path.join(ROOT, os.path.dirname(RESULTS)))
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu",
                        "--hide-scrollbars", "--force-color-profile=srgb",
                        f"--window-size={PAGE_SIZE}", f"--screenshot={png}", "file://" + page],
                       check=True, stderr=subprocess.DEVNULL)
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--speed", "1", "--strip", "--output", png, "32",
                        png], check=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kbench = os.path.abspath(sys.argv[1])
    pictures = os.path.join(ROOT, "docs/pictures")
    os.makedirs(pictures, exist_ok=True)
    shown = "$ kbench report " + RESULTS + "\n" + on_terminal([kbench, "report", RESULTS])
    with open(os.path.join(pictures, "terminal.svg"), "w", encoding="utf-8") as file:
        file.write(svg_of(shown))
    with open(os.path.join(ROOT, TRACE), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    with open(os.path.join(pictures, "trace.svg"), "w", encoding="utf-8") as file:
        file.write(svg_of_trace(events))
    page_picture(kbench, os.path.join(pictures, "report.png"))


if __name__ == "__main__":
    main()
