"""What is stored: filters that remove, results of files that were edited since, imports that contradict themselves."""

import copy
import json
import shutil
import time

from cheats import SCALAR, buffer, space_of

FAMILIES = [["NVIDIA GeForce RTX 2080", " Ti", " SUPER", " Ti Max-Q", " (Laptop)"],
            ["NVIDIA L4", "0", "0S", "0G", "00"],
            ["NVIDIA A100", "-PCIE-40GB", "-SXM4-40GB", "-SXM4-80GB", "0"],
            ["Planted GPU 3", "1", "2", "21", "0 3"]]
WORDS = ["gemm", "_tc", "_fp8", "_tc_fp8", "s"]


def cache(device, kernel, points, size=(100, 50)):
    """A Kernel Tuner cache file. `points`: pairs of a value of x and a time."""
    return {"device_name": device, "kernel_name": kernel, "problem_size": list(size), "tune_params_keys": ["x"],
            "tune_params": {"x": sorted({x for x, _ in points})}, "objective": "time",
            "cache": {f"{x},{i}": {"x": x, "time": ms, "times": [ms, ms * 1.1]} for i, (x, ms) in enumerate(points)}}


def nested(random, words):
    """A name, and others that begin with it."""
    return [words[0], *(words[0] + suffix for suffix in random.sample(words[1:], random.randint(1, len(words) - 1)))]


def rows_by(attack, database, axis):
    """The ids of the results, by device, space or imported file."""
    found = {}
    for row in attack.latest(database, every=True):
        found.setdefault(row[axis], set()).add(row["id"])
    return found


def databases_beside(database):
    return [file for file in database.parent.iterdir()
            if file != database and file.is_file() and file.read_bytes()[:15] == b"SQLite format 3"]


def prune(attack, database, axis, name, names):
    before = rows_by(attack, database, axis)
    ended = attack.run(["db", "prune", f"--{axis}", name, "--yes", "--db", database], statuses={0, 2})
    after = rows_by(attack, database, axis)
    lost = {key for key, ids in before.items() if not ids <= after.get(key, set())}
    alike = [other for other in names if name.lower() in other.lower()]
    exact = [other for other in names if other == name] or [
        other for other in names if name.strip().lower() in (other.lower(), other.lower().removeprefix("nvidia "))]
    # One whose whole name it is, with the vendor or without; else one of whose name alone it is a part; else none.
    allowed = set(exact) if exact else set(alike) if len(alike) == 1 else set()
    if not lost <= allowed:
        attack.defect(f"`db prune --{axis} {name!r}` removed {sorted(lost - allowed)}", str(database))
    elif lost and not any(rows_by(attack, other, axis) == before for other in databases_beside(database)):
        attack.defect(f"`db prune --{axis} {name!r}` leaves no backup", str(database))
    elif exact and lost != allowed:
        attack.defect(f"`db prune --{axis} {name!r}` removed nothing", str(database), ended.err[-300:].decode(errors="replace"))


def show(attack, database, axis, name, names):
    """What reads keeps to the exact name, too."""
    for words in (["best", "--json"], ["export", "--format", "json"], ["list", "--results", "--json"]):
        ended = attack.run([*words, f"--{axis}", name, "--source", "imported", "--db", database], statuses={0, 2})
        if ended.status != 0:
            attack.defect(f"`{words[0]} --{axis} {name!r}` finds nothing", str(database), ended.err[-300:].decode(errors="replace"))
            continue
        data = json.loads(ended.out)
        results = data.get("best") or data.get("results") or []
        shown = {result["device"]["name"] if axis == "device" else result["space"] for result in results}
        if shown != {name}:
            attack.defect(f"`{words[0]} --{axis} {name!r}` shows {sorted(shown)}", str(database))


def filters(attack):
    random = attack.random
    for number in attack.times(60):
        folder = attack.case("filters", keep=True)
        database = folder / "results.sqlite"
        axis = ["device", "space"][number % 2]
        names = nested(random, random.choice(FAMILIES) if axis == "device" else WORDS)
        random.shuffle(names)
        for i, name in enumerate(names):
            device, kernel = (name, "gemm") if axis == "device" else ("NVIDIA H200", name)
            points = [(2**k, random.uniform(1, 9)) for k in range(random.randint(1, 4))]
            (folder / f"{i}.json").write_text(json.dumps(cache(device, kernel, points)))
            attack.run(["import", folder / f"{i}.json", "--db", database], statuses={0})
        name = random.choice(names)
        show(attack, database, axis, name, names)
        if random.random() < 0.4:  # A part of a name.
            begin = random.randrange(len(name) - 1)
            name = name[begin:begin + random.randint(2, len(name))]
        prune(attack, database, axis, name, names)
        attack.rows(database)


EDITED = """#include "part.h"
template <int VARIANT, int THREADS>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i] + PART;
}
"""


def edit(space, source, part, kind):
    """Another space, source and include file. True where results of the old ones say nothing of these."""
    kernel, verify = space["kernels"][0], space["verify"]
    if kind == "source":
        source = source.replace("2.0f * in[i]", "2.0f * in[i] * 1.0f")
    elif kind == "include":
        part = "#define PART (0.0f + 0.0f)\n"
    elif kind == "tolerance":
        verify["absolute"] = 1e-9
    elif kind == "definition":
        verify["definition"] = "out[i] = in[i] + in[i] + 0 * in[i]"
    elif kind == "options":
        kernel["options"] = ["--use_fast_math"]
    elif kind == "also":
        verify["also"] = [{"N": 77}]
    elif kind == "description":
        space["description"] = kernel["description"] = "another text"
    elif kind == "format":
        return json.dumps(space), source, part, False
    return json.dumps(space, indent=1), source, part, kind not in ("nothing", "description")


def stale(attack):
    random = attack.random
    folder = attack.case("stale", keep=True)
    arguments = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "output"), SCALAR]
    verify = {"definition": "out[i] = 2 * in[i]", "absolute": 1e-3}
    parameters = {"VARIANT": [0], "THREADS": [64, 128]}
    space = space_of({"include": ["."]}, arguments, verify, parameters, size=random.randint(1000, 9000))
    part = "#define PART 0.0f\n"
    files = {"s.json": json.dumps(space, indent=1), "k.cu": EDITED, "part.h": part}
    for name, text in files.items():
        (folder / name).write_text(text)
    database = folder / "results.sqlite"
    attack.run(["--space", folder / "s.json", "--device", attack.device, "--db", database], seconds=300, statuses={0})
    kinds = ["source", "include", "tolerance", "definition", "options", "also", "description", "format", "nothing"]
    for number in attack.times(2 * len(kinds)):
        kind = kinds[number % len(kinds)]
        texts = edit(copy.deepcopy(space), EDITED, part, kind)
        for name, text in zip(files, texts):
            (folder / name).write_text(text)
        for words in (["export", "--format", "json"], ["best", "--json"]):
            ended = attack.run([*words, "--space", folder / "s.json", "--db", database], statuses={0, 2})
            best = json.loads(ended.out)["best"] if ended.status == 0 else []
            said = any(one["provenance"].get("stale", one.get("stale")) for one in best) or not best
            if said != texts[3]:
                attack.defect(f"`{words[0]}` after an edit of {kind} says stale: {said}", str(folder))
        text = attack.run(["best", "--space", folder / "s.json", "--db", database], statuses={0, 2})
        if texts[3] and text.status == 0 and b"edited" not in text.out + text.err and b"stale" not in text.out + text.err:
            attack.defect(f"`best` after an edit of {kind} says nothing of it", str(folder))


CONTRADICTIONS = {
    "a median below the minimum": lambda t, r: t.update(median_ms=t["min_ms"] / r.uniform(2, 1e6)),
    "a median above the maximum": lambda t, r: t.update(median_ms=t["max_ms"] * r.uniform(2, 1e6)),
    "a minimum above the maximum": lambda t, r: t.update(min_ms=t["max_ms"] * 2),
    "quartiles that are swapped": lambda t, r: t.update(q1_ms=t["max_ms"] * 3, q3_ms=t["min_ms"] / 3),
    "an interval beside its median": lambda t, r: t.update(median_low_ms=t["median_ms"] * 4, median_high_ms=t["median_ms"] * 5),
    "a mean outside of its samples": lambda t, r: t.update(mean_ms=t["max_ms"] * r.uniform(5, 100)),
    "a negative time": lambda t, r: t.update(median_ms=-1),
    "a time of 0": lambda t, r: t.update(median_ms=0),
    "a time that is no number": lambda t, r: t.update(median_ms="fast"),
    "no samples": lambda t, r: t.update(samples=0),
    "a negative number of samples": lambda t, r: t.update(samples=-r.randint(1, 9)),
    "no launches in a sample": lambda t, r: t.update(launches_per_sample=0),
    "a negative clock": lambda t, r: t.update(sm_clock_mhz=-5),
}


def contradictions(attack):
    """Fields of a measurement that cannot all be true are refused with their place, or do no harm to what checks."""
    exported = attack.folder / "golden.json"
    attack.run(["export", "--db", attack.golden, "-o", exported], statuses={0})
    golden = json.loads(exported.read_text())
    kinds = sorted(CONTRADICTIONS)
    for number in attack.times(2 * len(kinds)):
        kind = kinds[number % len(kinds)]
        folder = attack.case("contradictions", keep=True)
        data = copy.deepcopy(golden)
        CONTRADICTIONS[kind](data["best"][0]["time"], attack.random)
        (folder / "in.json").write_text(json.dumps(data))
        ended = attack.run(["import", folder / "in.json", "--db", folder / "own.sqlite"], statuses={0, 2})
        if ended.status == 2:
            if b"in.json" not in ended.err:
                attack.defect(f"{kind} is refused without its file", str(folder), ended.err[-300:].decode(errors="replace"))
            continue
        checked = attack.run(["db", "check", "--db", folder / "own.sqlite"], statuses={0, 4})
        if checked.status != 0:
            attack.defect(f"`import` takes {kind}, and `db check` calls the database wrong", str(folder))
        shown = attack.run(["best", "--source", "imported", "--json", "--db", folder / "own.sqlite"], statuses={0, 2})
        times = [one["time"] for one in json.loads(shown.out)["best"]] if shown.status == 0 else []
        for its in times:
            if not its["min_ms"] <= its["median_ms"] <= its["max_ms"]:
                attack.defect(f"`import` takes {kind}, and `best` shows it", str(folder))


ODD = ["N,T", None, [1, 2], {"a": 1}, "", "\u202e", 1e400, True]


def odd_entries(attack):
    """One entry that cannot be read costs none of the others."""
    for number in attack.times(24):
        folder = attack.case("odd_entries", keep=True)
        data = cache("NVIDIA H200", "odd", [(2**k, 1.0 + k) for k in range(12)])
        entry = data["cache"][attack.random.choice(sorted(data["cache"]))]
        odd = ODD[number // 2 % len(ODD)]
        key = ["x", "time"][number % 2]
        entry[key] = odd
        (folder / "in.json").write_text(json.dumps(data).replace("Infinity", "1e400"))
        attack.run(["import", folder / "in.json", "--db", folder / "own.sqlite"], statuses={0, 2})
        stored = len(attack.latest(folder / "own.sqlite", every=True)) if (folder / "own.sqlite").exists() else 0
        if stored < 11:
            attack.defect(f"an entry whose {key} is {odd!r} leaves {stored} of 11 others", str(folder))


def repeated(attack):
    """As many entries of one configuration as of different ones, in a time that is of the same order."""
    for number in attack.times(2):
        folder = attack.case("repeated", keep=True)
        count = attack.random.randint(12000, 16000)
        seconds = []
        for points in ([(i, 1 + i / count) for i in range(count)], [(64, 1 + i / count) for i in range(count)]):
            (folder / "in.json").write_text(json.dumps(cache("NVIDIA H200", "many", points)))
            began = time.time()
            attack.run(["import", folder / "in.json", "--db", folder / f"{len(seconds)}.sqlite"], statuses={0}, seconds=120)
            seconds.append(time.time() - began)
        if seconds[1] > 5 * seconds[0] + 2:
            attack.defect(f"{count} entries of one configuration take {seconds[1]:.1f} s, of different ones {seconds[0]:.1f} s",
                          str(folder))
