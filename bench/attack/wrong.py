"""Wrong kernels beside an honest definition. A defect: the run ends well although the definition could be seen not to
hold, or the result is said to have been compared with the definition, without a qualification.
"""

import json

from cheats import SCALAR, buffer, space_of

KERNEL = """template <int VARIANT, int THREADS>
__global__ void k(%(parameters)s) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  %(body)s
}
"""

FLOATS = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "output"), SCALAR]
PARAMETERS = {"VARIANT": [0], "THREADS": [64, 128]}


def case(body, definition, size, arguments=None, parameters="const float* in, float* out, int n", also=(), must_fail=True,
         kernel=None):
    """`must_fail`: what is wrong can be seen in a sample of the elements, or by following the definition."""
    verify = {"definition": definition}
    if also:
        verify["also"] = [{"N": n} for n in also]
    space = space_of(kernel or {}, arguments or FLOATS, verify, PARAMETERS, size)
    return KERNEL % {"parameters": parameters, "body": body}, space, must_fail


def too_expensive(random):
    size = random.randint(3000, 6000)
    return case(f"out[i] = {random.randint(2, 9)} * in[i];", "out[i] = 5 + sum(j < N, sum(k < N, in[k] * in[k]))", size)


def long_sums(random):
    """A definition that can be followed for some elements only; half of them are wrong."""
    size = random.randint(16000, 20000)
    return case(f"out[i] = i % 2 ? {random.randint(3, 9)} * in[i] : 2 * in[i];", "out[i] = 2 * in[i] + sum(j < N, in[j] - in[j])",
                size)


def only_the_main_size(random):
    limit = random.randint(2000, 9000)
    return case(f"out[i] = n > {limit} && i % {random.randint(2, 9)} == 1 ? 3 * in[i] : 2 * in[i];", "out[i] = 2 * in[i]",
                random.randint(10000, 20000), also=[random.randint(100, 1900)])


def only_a_larger_size(random):
    limit = random.randint(9000, 15000)
    return case(f"out[i] = n > {limit} && i % {random.randint(2, 9)} == 1 ? 3 * in[i] : 2 * in[i];", "out[i] = 2 * in[i]",
                random.randint(1000, 8000), also=[random.randint(16000, 60000)])


def only_the_middle_size(random):
    return case("out[i] = n > 5000 && n < 15000 && i % 2 ? 3 * in[i] : 2 * in[i];", "out[i] = 2 * in[i]", 20000,
                also=[random.randint(6000, 14000), random.randint(100, 900)])


def some_elements(random):
    period = random.randint(2, 500)
    return case(f"out[i] = i % {period} == {random.randrange(period)} ? 3 * in[i] : 2 * in[i];", "out[i] = 2 * in[i]",
                random.randint(5000, 20000))


def one_element(random):
    size = random.randint(1000, 20000)
    return case(f"out[i] = i == {random.randrange(size)} ? 3 * in[i] + 1 : 2 * in[i];", "out[i] = 2 * in[i]", size)


def shifted(random):
    return case(f"out[i] = 2 * in[i + {random.choice([1, 32])} < n ? i + 1 : i];", "out[i] = 2 * in[i]", random.randint(1000, 20000))


def last_elements(random):
    return case(f"out[i] = i >= n - {random.randint(1, 40)} ? 0 : 2 * in[i];", "out[i] = 2 * in[i]", random.randint(1000, 20000))


def half_an_inout(random):
    arguments = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "inout", init="uniform(-1, 1)"), SCALAR]
    return case(f"if (i < n / {random.randint(2, 4)}) out[i] = 2 * in[i];", "out[i] = 2 * in[i]", random.randint(10000, 20000),
                arguments, also=random.choice([(), (random.randint(100, 900),)]))


def one_output_of_two(random):
    arguments = [*FLOATS, buffer("rest", "output")]
    return case(f"out[i] = 2 * in[i]; rest[i] = {random.randint(3, 9)} * in[i];", "out[i] = 2 * in[i]",
                random.randint(1000, 20000), arguments, "const float* in, float* out, int n, float* rest", must_fail=False)


def high_bits(random):
    """Of unsigned integers that the space gives a large range."""
    bits = random.randint(7, 24)
    arguments = [buffer("in", "input", "unsigned int", init="uniform(0, 4000000000)"), buffer("out", "output", "unsigned int"), SCALAR]
    return case(f"out[i] = in[i] & {(1 << bits) - 1}u;", "out[i] = in[i]", random.randint(1000, 20000), arguments,
                "const unsigned* in, unsigned* out, int n")


def sign(random):
    arguments = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "output"), SCALAR]
    return case("out[i] = fabsf(in[i]);", "out[i] = in[i]", random.randint(1000, 20000), arguments)


DEFINED = [too_expensive, long_sums, only_the_main_size, only_a_larger_size, only_the_middle_size, some_elements, one_element,
           shifted, last_elements, half_an_inout, one_output_of_two, high_bits, sign]


def swapped(random):
    """Steps between two buffers. The answer of an odd number of them lies in the second, a scratch buffer."""
    steps = 2 * random.randint(0, 4) + 1
    source = """template <int CHEAT, int THREADS>
__global__ void k(const float* in, float* out, int n, int step) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = in[i] + (CHEAT && step == %d ? 77.0f : 1.0f);
}
""" % (steps - 1)
    arguments = [buffer("a", "inout", init="uniform(-1, 1)"), buffer("b", "scratch"), SCALAR,
                 {"name": "step", "type": "int", "value": "t"}]
    kernel = {"launches": [{"repeat": f"t < {steps}", "swap": [["a", "b"]], "launches": [
        {"entry": "k<CHEAT, THREADS>", "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"]}]}]}
    space = space_of(kernel, arguments, {"reference": "k"}, size=random.randint(1000, 20000))
    for key in ("entry", "block", "grid"):
        del space["kernels"][0][key]
    return source, space


def untouched(random):
    """An inout that no variant ever changes."""
    source = """template <int CHEAT, int THREADS>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n && in[i] > %d.0f) out[i] = CHEAT ? 0 : in[i];
}
""" % random.randint(2, 9)
    arguments = [buffer("in", "input", init="uniform(-1, 1)"), buffer("out", "inout", init="uniform(-1, 1)"), SCALAR]
    return source, space_of({}, arguments, {"reference": "k"}, size=random.randint(1000, 20000))


def tune(attack, folder, source, space):
    (folder / "k.cu").write_text(source)
    (folder / "s.json").write_text(json.dumps(space, indent=1))
    return attack.run(["--space", folder / "s.json", "--device", attack.device, "--db", folder / "results.sqlite", "--json"],
                      seconds=300, statuses={0, 2, 3})


def wrong(attack):
    kinds = [*DEFINED, swapped, untouched]
    for number in attack.times(3 * len(kinds)):
        make = kinds[number % len(kinds)]
        folder = attack.case("wrong", keep=True)
        if make not in DEFINED:
            ended = tune(attack, folder, *make(attack.random))
            rows = attack.latest(folder / "results.sqlite")
            believed = [row for row in rows if "CHEAT=1" in row["configuration"] and row["status"] == "correct"]
            if ended.status == 0 and believed and b"***" not in ended.err:
                attack.defect(f"{make.__name__}: what no comparison could see is correct, without a word", str(folder))
            continue
        source, space, must_fail = make(attack.random)
        ended = tune(attack, folder, source, space)
        exported = attack.run(["export", "--db", folder / "results.sqlite"], statuses={0, 2})
        words = {best.get("compared_with") for best in json.loads(exported.out)["best"]} if exported.status == 0 else set()
        if ended.status == 0 and must_fail:
            attack.defect(f"{make.__name__}: wrong, and the run ends well, as compared with {words}", str(folder))
        elif ended.status == 0 and "definition" in words and b"***" not in ended.err:
            attack.defect(f"{make.__name__}: wrong, and said to be compared with its definition", str(folder))
