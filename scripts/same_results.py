#!/usr/bin/env python3
"""Compares results documents of the same cases.

    scripts/same_results.py [--exact] FIRST.json OTHER.json...

Cases, verdicts, seeds of the inputs, their hashes where both have them (`--hash-inputs`) and what was
checked must be equal. For the worst residual the
largest relative difference is shown, because devices of two models need not round alike; --exact
wants every residual equal to the last bit. Says for each document how its cases were spread and how
long they took one after the other.
"""
import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def identity(case):
    """What may not depend on where a case ran."""
    return {
        "spec": case["spec"],
        "seed": case["seed"],
        "status": case["status"],
        "error": case["error"],
        "inputs": [entry["seed"] for entry in case["inputs"]],
        "residuals": sorted(case["residuals"]),
    }


def hashes(case):
    return [entry.get("sha256") for entry in case["inputs"]]


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-300)


def spread(document):
    counts = [0] * len(document["places"])
    for case in document["cases"]:
        if case["place"] is not None:
            counts[case["place"]] += 1
    names = [place["name"] for place in document["places"]]
    return ", ".join(f"{name}: {count}" for name, count in zip(names, counts))


def main(paths):
    exact = "--exact" in paths
    paths = [path for path in paths if path != "--exact"]
    if len(paths) < 1:
        sys.exit(__doc__)
    first = load(paths[0])
    failed = False
    for path in paths:
        other = load(path)
        seconds = sum(case["wall_s"] for case in other["cases"])
        print(f"{path}: {spread(other)}; cases {seconds:.1f} s in a row")
        if len(first["cases"]) != len(other["cases"]):
            print(f"  {len(other['cases'])} cases, not {len(first['cases'])}")
            failed = True
            continue
        worst = 0.0
        for a, b in zip(first["cases"], other["cases"]):
            if identity(a) != identity(b):
                print(f"  case {a['index']} differs: {identity(a)} / {identity(b)}")
                failed = True
            if all(hashes(a)) and all(hashes(b)) and hashes(a) != hashes(b):
                print(f"  case {a['index']} has other inputs: {hashes(a)} / {hashes(b)}")
                failed = True
            if exact and a["residuals"] != b["residuals"]:
                print(f"  case {a['index']}: {a['residuals']} / {b['residuals']}")
                failed = True
            worst = max(worst, relative(a["worst_of_gate"], b["worst_of_gate"]))
        print(f"  largest relative difference of a worst residual: {worst:.3g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
