#!/usr/bin/env python3
"""Makes the pictures of the README from a results document of a real run.

  scripts/pictures.py KBENCH

docs/pictures/terminal.svg is what `kbench report RESULTS.json` prints on a terminal, character by
character; docs/pictures/report.png is the page that it writes with `-o`, as a headless Chromium
draws it (chromium-headless-shell, or the one that KBENCH_BROWSER names). pngquant makes the second
one small where it is installed.
"""
import fcntl
import html
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
    page_picture(kbench, os.path.join(pictures, "report.png"))


if __name__ == "__main__":
    main()
