"""Kernels that cheat: right while they believe that somebody looks, quicker and often wrong when they are only timed.

Every cheat stands beside the honest variant of the same kernel (CHEAT=0, the default), whose work it leaves out, so a
cheat that is believed wins. A defect: a cheat that is always wrong is the best, or one is stored as correct with less
than 0.7 of the honest time, or `run` calls it correct with such a time. A cheat that never gets the chance does the
same work as the honest variant, and may be ahead of it by noise.
"""

import json

WORTHWHILE = 0.7  # A cheat that saves less than this gains nothing by it.
SIZE = 20064      # Of what a kernel keeps for each element.

KERNEL = """%(variables)s
__device__ inline float slowly(float x) {
  float y = x;
  for (int j = 0; j < %(work)d; ++j) y = y * 0.99f + x;
  return y > 1e30f ? y : %(factor)s * x + %(offset)s;
}
template <int CHEAT, int THREADS>
__global__ void k(%(parameters)s) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  if (CHEAT) {
    %(cheat)s
  }
  const float value = slowly(in[i]);
  out[i] = value;
  if (CHEAT) {
    %(after)s
  }
}
"""


def cheat_kinds(random):
    """Name: (device variables, what happens before the work, what happens after it), with random numbers."""
    after = random.randint(4, 24)
    honest = random.randint(3, 8)
    period = honest + random.randint(4, 40)
    part = random.choice([2, 3, 4, 8])
    gap = random.choice([100_000, 1_000_000, 20_000_000])
    spot = random.choice(["in[0]", "in[n - 1]", "in[n / 2]"])
    calls = f"__device__ unsigned calls[{SIZE}];"
    one = "__device__ unsigned calls;"
    kept = f"__device__ float last[{SIZE}], kept[{SIZE}]; __device__ char known[{SIZE}];"
    keep = "known[i] = 1; kept[i] = value;"
    wrong = random.choice(["out[i] = 0;", "out[i] = in[i];", "if (i % 2) out[i] = 0;", ""])
    sum_of_few = "in[0] + in[n / 3] + in[n / 2] + in[n - 1]"
    return {
        "counts launches of each element": (calls, f"if (++calls[i] > {after}) {{ {wrong} return; }}", ""),
        "counts launches by one thread": (one, f"if (i == 0) atomicAdd(&calls, 1u); if (calls > {after}) {{ {wrong} return; }}", ""),
        "is honest in some launches of a period": (calls, f"if (calls[i]++ % {period} >= {honest}) {{ {wrong} return; }}", ""),
        "is honest in launches chosen by a hash": (
            calls, f"unsigned c = calls[i]++; if (c > {honest} && (c * 2654435761u >> 28) > 2) {{ {wrong} return; }}", ""),
        "works on fewer and fewer elements": (calls, f"if (++calls[i] > {after} && i % {part}) return;", ""),
        "returns where its input is the last one": (kept, "if (known[i] && last[i] == in[i]) return;", keep + " last[i] = in[i];"),
        "copies its result where its input is the last one": (
            kept, "if (known[i] && last[i] == in[i]) { out[i] = kept[i]; return; }", keep + " last[i] = in[i];"),
        "keeps results by the input's address": (
            kept + f" __device__ const float* place[{SIZE}];",
            "if (known[i] && place[i] == in) { out[i] = kept[i]; return; }", keep + " place[i] = in;"),
        "keeps results by a checksum of few inputs": (
            kept, f"if (known[i] && last[i] == {sum_of_few}) {{ out[i] = kept[i]; return; }}", keep + f" last[i] = {sum_of_few};"),
        "returns where one input is unchanged": (kept, f"if (known[i] && last[i] == {spot}) return;", keep + f" last[i] = {spot};"),
        "returns where the output is no NaN": ("", "if (out[i] == out[i]) return;", ""),
        "returns where the output is the same as before": (
            kept, "if (known[i] && out[i] == kept[i]) return;", keep),
        "returns where the output is not what it was at first": (
            f"__device__ unsigned first[{SIZE}]; __device__ char known[{SIZE}];",
            "const unsigned now = __float_as_uint(out[i]); if (!known[i]) { known[i] = 1; first[i] = now; }"
            " else if (now != first[i]) return;", ""),
        "keeps results in scratch": (
            "", "if (scratch[2 * i] == in[i] + 12345.0f) { out[i] = scratch[2 * i + 1]; return; }",
            "scratch[2 * i] = in[i] + 12345.0f; scratch[2 * i + 1] = value;"),
        "marks scratch and returns": ("", "if (scratch[2 * i] == 12345.0f) return;", "scratch[2 * i] = 12345.0f;"),
        "returns when launched soon after the last launch": (
            f"__device__ long long before[{SIZE}];",
            f"const long long now = clock64(); const bool soon = before[i] && now - before[i] < {gap}; before[i] = now;"
            f" if (soon) {{ {wrong} return; }}", ""),
        "leaves half of its blocks to the next launch": (
            calls, f"if (++calls[i] > {honest} && ((calls[i] + blockIdx.x) & 1)) return;", ""),
        "leaves all but one block in some to later launches": (
            calls, f"if (++calls[i] > {honest} && (calls[i] + blockIdx.x) % {2 * part}) return;", ""),
        "searches the memory for the reference's output": (
            "", "const float a = %(factor)s * in[0] + %(offset)s, b = %(factor)s * in[1] + %(offset)s;"
            " for (long long d = -(1 << 18); d < (1 << 18); d += 64) { const float* p = out + d;"
            " if (p != out && p[0] == a && p[1] == b) { out[i] = p[i]; return; } }", ""),
        "writes NaN": ("", f"if (i % {part} == 0) {{ out[i] = 0.0f / 0.0f; return; }}", ""),
        "writes infinity": ("", f"if (i % {part} == 0) {{ out[i] = 1.0f / 0.0f; return; }}", ""),
        "writes nothing to some elements": ("", f"if (i % {part} == 0) return;", ""),
    }


def space_of(kernel, arguments, verify, parameters=None, size=None):
    """A space of one kernel, `k<PARAMETER, ...>` in k.cu, whose first parameter is 0 in the default."""
    parameters = parameters or {"CHEAT": [0, 1], "THREADS": [64]}
    return {
        "name": "attacked", "problems": [{"N": size}], "arguments": arguments, "verify": verify,
        "kernels": [{"name": "k", "source": "k.cu", "entry": f"k<{', '.join(parameters)}>", "parameters": parameters,
                     "default": {name: values[0] for name, values in parameters.items()},
                     "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"], **kernel}]}


def buffer(name, role, element="float", shape="N", init=None):
    argument = {"name": name, "type": element, "shape": [shape], "role": role}
    return dict(argument, init=init) if init else argument


SCALAR = {"name": "n", "type": "int", "value": "N"}


def amounts(attack):
    """Elements, and steps of work for each: some milliseconds on the CPU device, some microseconds on a GPU."""
    random = attack.random
    if attack.device == "cpu":
        return random.randint(2000, 5000), random.choice([500, 900])
    return random.randint(9000, 20000), random.choice([3000, 6000])


def stateful(attack, kind):
    """The source and the space of a cheat that knows something of the launch that it is in."""
    random = attack.random
    size, work = amounts(attack)
    variables, cheat, after = cheat_kinds(random)[kind]
    numbers = {"work": work, "factor": random.choice(["2.0f", "3.0f"]),
               "offset": random.choice(["0.0f", "1.0f"])}
    with_scratch = "scratch" in cheat
    parameters = "const float* in, float* out, int n" + (", float* scratch" if with_scratch else "")
    source = KERNEL % dict(numbers, variables=variables, cheat=cheat % numbers if "%(" in cheat else cheat, after=after,
                           parameters=parameters)
    arguments = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "output"), SCALAR]
    if with_scratch:
        arguments.append(buffer("scratch", "scratch", shape="2 * N"))
    verify = {"definition": f"out[i] = {numbers['factor'][:-1]} * in[i] + {numbers['offset'][:-1]}"}
    return source, space_of({}, arguments, verify, size=size)


def constant(attack):
    """All outputs are nearly equal, and the tolerance takes a constant for them."""
    size, work = amounts(attack)
    level = attack.random.choice([10, 100, 1000])
    source = """template <int CHEAT, int THREADS>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  if (!CHEAT) for (int j = 0; j < %d; ++j) x = x * 0.5f + 0.5f * in[i];
  out[i] = CHEAT ? %d.0f : %d.0f + 0.001f * x;
}
""" % (work, level, level)
    arguments = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "output"), SCALAR]
    verify = {"relative": 1e-3, "definition": f"out[i] = {level} + 0.001 * in[i]"}
    return source, space_of({}, arguments, verify, size=size)


def low_bits(attack):
    """64-bit integers that differ where a double has no bits."""
    size, work = amounts(attack)
    shift = attack.random.randint(56, 62)
    element = attack.random.choice(["unsigned long long", "long long"])
    source = """template <int CHEAT, int THREADS>
__global__ void k(const int* in, %s* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = 1ull << %d;
  if (!CHEAT) {
    unsigned long long h = in[i];
    for (int j = 0; j < %d; ++j) h = (h * 6364136223846793005ull + 1442695040888963407ull) ^ (h >> 7);
    x += h & 3;
  }
  out[i] = x;
}
""" % (element, shift, work)
    arguments = [buffer("in", "input", "int", init="uniform(0, 1000)"), buffer("out", "output", element), SCALAR]
    return source, space_of({}, arguments, {"reference": "k"}, size=size)


def judge(attack, kind, folder, database, warned):
    """Looks for what the cheat gained by what is stored."""
    rows = attack.latest(database)
    honest = [row["median_ms"] for row in rows if "CHEAT=0" in row["configuration"] and row["median_ms"]]
    best = attack.run(["best", "--db", database], statuses={0, 2}).out.decode()
    if "CHEAT=1" in best and kind.startswith(("writes", "differs")) and not warned:
        attack.defect(f"a cheat is the best: it {kind}", str(folder))
        return False
    for row in rows:
        gains = row["median_ms"] and honest and row["median_ms"] < WORTHWHILE * min(honest)
        if "CHEAT=1" in row["configuration"] and row["status"] == "correct" and gains and not warned:
            attack.defect(f"a cheat is stored as correct with {row['median_ms']:.3g} ms beside {min(honest):.3g} ms: it {kind}",
                          str(folder))
            return False
    if not honest:
        attack.defect(f"the honest variant was not timed beside one that {kind}", str(folder))
    return bool(honest)


def run_alone(attack, kind, folder, database, space):
    """`run` times a configuration by itself, and says whether it is correct."""
    medians = []
    for cheat in (0, 1):
        ended = attack.run(["run", "--space", space, "--device", attack.device, "--db", database, "--config",
                            f"CHEAT={cheat},THREADS=64", "--json"], statuses={0, 1, 2, 3}, seconds=300)
        try:
            result = json.loads(ended.out)
        except ValueError:
            return
        result = result.get("result", result)
        if result.get("status") != "correct":
            return
        medians.append((result.get("time") or {}).get("median_ms"))
    if all(medians) and medians[1] < WORTHWHILE * medians[0]:
        attack.defect(f"`run` calls a cheat correct with {medians[1]:.3g} ms beside {medians[0]:.3g} ms: it {kind}", str(folder))


def cheats(attack):
    kinds = sorted(cheat_kinds(attack.random))
    special = {"writes a constant within the tolerance": constant, "differs in the low bits of 64": low_bits}
    order = kinds + sorted(special)
    start = attack.random.randrange(len(order)) if attack.scale < 1 else 0
    for number in attack.times(2 * len(order)):
        kind = order[(start + number) % len(order)]
        folder = attack.case("cheats", keep=True)
        source, space = special[kind](attack) if kind in special else stateful(attack, kind)
        (folder / "k.cu").write_text(source)
        (folder / "s.json").write_text(json.dumps(space, indent=1))
        database = folder / "results.sqlite"
        ended = attack.run(["--space", folder / "s.json", "--device", attack.device, "--db", database], seconds=300, statuses={0, 3})
        if ended.status == 3 and b"clock64" in ended.err:
            continue  # The CPU device has no clock.
        # A tolerance that cannot tell the kernels apart is the file's; that it cannot has to be said.
        warned = kind in special and b"***" in ended.err + ended.out
        if judge(attack, kind, folder, database, warned) and kind not in special:
            run_alone(attack, kind, folder, database, folder / "s.json")
