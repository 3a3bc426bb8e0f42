#!/usr/bin/env python3
"""Does the capture range change the timings?

Runs `kbench benchmark FILE` in 20 ABBA pairs with `--range on` and `--range off` and prints the median
ratio of the means with its 95 % sign-test interval. Passes when the interval includes 1 or lies within
0.5 % of it.

Usage: abba.py KBENCH FILE [PAIRS [OPTION OF KBENCH]...]
"""
import json
import statistics
import subprocess
import sys
import tempfile


def mean_ns(kbench, file, setting, options):
    """Mean of the first case of one run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        subprocess.run([kbench, "benchmark", file, "--problem", "qr_v2", "--device", "cuda", "--range",
                        setting, "--json", result.name, *options], check=True, stdout=subprocess.DEVNULL)
        with open(result.name, encoding="utf-8") as text:
            return json.load(text)["cases"][0]["summary_ns"]["mean"]


def sign_interval(values, pairs):
    """Order statistics whose coverage is at least 95 % under the binomial sign test."""
    total, tail, rank = 2.0 ** pairs, 0.0, 0
    choose = 1.0
    while True:
        if (tail + choose) / total > 0.025:
            break
        tail += choose
        rank += 1
        choose = choose * (pairs - rank + 1) / rank
    return values[rank - 1], values[pairs - rank]


def main():
    kbench, file = sys.argv[1], sys.argv[2]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    ratios = []
    for pair in range(pairs):
        order = ("on", "off") if pair % 2 == 0 else ("off", "on")
        found = {setting: mean_ns(kbench, file, setting, sys.argv[4:]) for setting in order}
        ratios.append(found["on"] / found["off"])
    ratios.sort()
    low, high = sign_interval(ratios, pairs)
    verdict = low <= 1 <= high or (abs(low - 1) <= 0.005 and abs(high - 1) <= 0.005)
    print(f"range on / off: median {statistics.median(ratios):.5f}, 95 % interval "
          f"[{low:.5f}, {high:.5f}], {pairs} pairs: {'no effect' if verdict else 'AN EFFECT'}")
    return 0 if verdict else 1


if __name__ == "__main__":
    sys.exit(main())
