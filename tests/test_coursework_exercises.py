"""The course's exercises: answers that are kept get exactly their points in the real jail; their checks work."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
from functools import cache
from pathlib import Path

import pytest

from asynclab import PipelineModel
from asynclab.errors import InvalidNumberError
from asynclab.simulated import VirtualClock, VirtualDevice, VirtualHost, WallClock
from coursework import Array, Outcome, Question, Remote, WrittenQuestion, drawing, exercise, judge, percent, teacher
from coursework.cases import asking, fingerprint
from coursework.exercise import Exercise, Places
from coursework.jail import Jail, interpreter
from coursework.judge import Judged
from coursework.model import Failed
from coursework.simulation import check_submitted, hidden_shares

ROOT = Path(__file__).parents[1]
PLACES = Places(ROOT / "exercises")
SLUGS = exercise.slugs(PLACES)
SEED = "c0ffee" * 6
#: Only here the answers import a framework, and the interpreter has to be the framework's.
WITH_FRAMEWORK = {"remove-the-hidden-wait"}
#: Of its known wrong answers, those that are tried here.
IN_FRAMEWORK = {
    "pytorch": {"waits_at_the_end", "only_the_first", "always_scaled", "prints_the_first"},
    "mxnet": {"waits_as_before", "only_the_first", "pythons_own_maximum"},
}
#: Known wrong answers that no check in the notebook can see: on a CPU PyTorch prints a tensor past `asynclab.waits`.
UNSEEN = {"remove-the-hidden-wait prints_the_first"}
#: All others are the same in both frameworks, so that one stands for both.
KEPT = [
    (slug, framework)
    for slug in SLUGS
    for framework in (("pytorch", "mxnet") if slug in WITH_FRAMEWORK else ("pytorch",))
]
TIMES = [(1.0, 3.0, 0.5), (3.0, 1.0, 0.5), (2.0, 2.0, 0.0)]


@cache
def loaded(slug: str) -> Exercise:
    return exercise.load(slug, PLACES)


@cache
def asked(slug: str, framework: str, seed: str = SEED) -> list[Question | WrittenQuestion]:
    return exercise.questions(loaded(slug), drawing.offering(loaded(slug), framework, seed))


@cache
def jail(slug: str, framework: str) -> Jail:
    return Jail(interpreter(framework, ROOT)) if slug in WITH_FRAMEWORK else Jail()


def judged(slug: str, framework: str, answers: dict[str, str]) -> Judged:
    found = loaded(slug)
    return judge.judge(asked(slug, framework), answers, framework, found.limits, jail(slug, framework))


def points(result: Judged) -> float:
    return sum(question.points for question, verdict, _ in result.verdicts if verdict.outcome is Outcome.PASSED)


def told(result: Judged) -> str:
    return "\n".join(f"{question.name}: {verdict}" for question, verdict, _ in result.verdicts)


def known_wrong() -> list[tuple[str, str, str]]:
    """Name them all; where a framework has to be imported, which takes seconds, some in one and some in the other."""
    found = [(slug, fw, wrong.name) for slug, fw in KEPT for wrong in percent.wrong(loaded(slug), fw)]
    return [each for each in found if each[0] not in WITH_FRAMEWORK or each[2] in IN_FRAMEWORK[each[1]]]


def test_there_are_eight_exercises_of_three_kinds():
    """Eight exercises, each for both frameworks: three with public solutions, two measured, two written."""
    found = [loaded(slug) for slug in SLUGS]

    assert len(found) == 8
    assert all(set(each.frameworks) == {"pytorch", "mxnet"} and not each.settings.needs for each in found)
    assert sorted(each.slug for each in found if each.solution == "public") == [
        "a-correct-benchmark",
        "count-the-waits",
        "which-program-waits",
    ]
    assert all(each.settings.constants for each in found if each.solution == "teacher")
    assert sorted(each.kind for each in found) == 4 * ["code"] + 2 * ["measure"] + 2 * ["written"]


@pytest.mark.parametrize("slug", SLUGS)
def test_an_exercise_is_complete(slug):
    """Text and teacher's part suit each other; there are hints, two to five questions and three known wrong answers."""
    found = loaded(slug)

    teacher.validate(found)

    assert 15 <= found.minutes <= 40
    for framework in found.frameworks:
        assert 2 <= len(asked(slug, framework)) <= 5
        wrong = percent.wrong(found, framework)
        assert len(wrong) >= 3
        assert len({each.misconception for each in wrong}) == len(wrong)
        for question in asked(slug, framework):
            assert question.rubric.strip() if isinstance(question, WrittenQuestion) else question.hint.strip()


@pytest.mark.parametrize(("slug", "framework"), KEPT)
def test_the_solution_gets_all_points(slug, framework):
    """The solution passes every question that a program judges."""
    result = judged(slug, framework, percent.solution(loaded(slug), framework))

    assert points(result) == sum(each.points for each in asked(slug, framework) if isinstance(each, Question)), told(
        result
    )


@pytest.mark.parametrize(("slug", "framework", "name"), known_wrong())
def test_a_known_wrong_answer_gets_exactly_its_points(slug, framework, name):
    """Each known wrong answer gets the points it is said to get, and its mistake has a sign of its own."""
    wrong = {each.name: each for each in percent.wrong(loaded(slug), framework)}[name]

    result = judged(slug, framework, wrong.answers)

    assert points(result) == wrong.points, told(result)
    for _, verdict, _ in result.verdicts:
        assert verdict.outcome in (Outcome.PASSED, Outcome.TO_BE_MARKED, Outcome.FAILED), told(result)
        assert verdict.outcome is not Outcome.FAILED or (verdict.sign and verdict.message), told(result)


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if slug not in WITH_FRAMEWORK])
def test_the_stub_attempts_nothing(slug):
    """A notebook that is handed in as it was handed out gets no points, and is told that nothing was written."""
    result = judged(slug, "mxnet", {name: cell.source for name, cell in loaded(slug).answers("mxnet").items()})

    assert {verdict.outcome for _, verdict, _ in result.verdicts} <= {Outcome.NOT_ATTEMPTED, Outcome.TO_BE_MARKED}


def test_different_mistakes_have_different_signs():
    """Where two known wrong answers fail the same question by different mistakes, feedback can tell them apart."""
    for slug in ("cost-model-as-a-function", "bound-the-queue", "a-correct-benchmark", "count-the-waits"):
        signs = {}
        for wrong in percent.wrong(loaded(slug), "pytorch"):
            for question, verdict, _ in judged(slug, "pytorch", wrong.answers).verdicts:
                if verdict.outcome is Outcome.FAILED:
                    signs.setdefault((question.name, verdict.sign), []).append(wrong.name)

        shared = [names for names in signs.values() if len(names) > 1]
        assert shared == [], slug


def test_the_same_mistake_has_the_same_sign_however_it_is_written():
    """A classic form written in another way shows the same misconception."""
    wrong = {each.name: each for each in percent.wrong(loaded("cost-model-as-a-function"), "pytorch")}["classic_form"]
    other = "# answer: async_total\ndef async_total(n, t1, t2, t3):\n    return sum((t3, t1, t2)) + (n - 1) * t2\n"

    results = [
        judged("cost-model-as-a-function", "pytorch", {**wrong.answers, "async_total": source})
        for source in (wrong.answers["async_total"], other)
    ]

    first, second = ([(v.outcome, v.sign) for _, v, _ in result.verdicts] for result in results)
    assert first == second


class Recording:
    """A student who notes what is asked, and answers nothing that is right."""

    def __init__(self):
        self.seen = []

    def call(self, function, *args):
        self.seen.append((function, *(each for each in args if not isinstance(each, Remote))))

    def define(self, _source):
        """Nothing is there to be helped."""


def inputs(slug: str, seed: str) -> str:
    student = Recording()
    for question in exercise.questions(loaded(slug), drawing.offering(loaded(slug), "pytorch", seed)):
        with contextlib.suppress(Failed):
            question.ask(student)
    return repr(student.seen)


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if loaded(slug).kind != "written"])
def test_hidden_inputs_are_those_of_the_seed(slug):
    """One seed asks the same each time, another one something else; the public text's constants never suffice."""
    assert inputs(slug, SEED) == inputs(slug, SEED)
    assert inputs(slug, SEED) != inputs(slug, "0ff5e7" * 6)


@pytest.mark.parametrize("slug", SLUGS)
def test_any_seed_gives_the_same_questions(slug):
    """Whatever is drawn, the questions can be made, and are those of the exercise."""
    found = loaded(slug)

    for seed in (f"{number:032x}" for number in range(25)):
        names = [question.name for question in exercise.questions(found, drawing.offering(found, "pytorch", seed))]
        assert names == [question.name for question in asked(slug, "pytorch")]


class Here:
    """A student whose answers run in this process: quick, and only for answers that we keep ourselves."""

    def __init__(self, answers):
        self.namespace = {}
        for source in answers.values():
            exec(source, self.namespace)

    def call(self, function, *args):
        return self.namespace[function](*(each.target if isinstance(each, Remote) else each for each in args))

    def points(self, questions):
        return sum(question.points for question in questions if self.verdict(question).outcome is Outcome.PASSED)

    def verdict(self, question):
        try:
            return question.ask(self)
        except Failed as error:
            return error.verdict


@pytest.mark.parametrize(
    "slug", ["cost-model-as-a-function", "bound-the-queue", "a-correct-benchmark", "count-the-waits"]
)
def test_points_do_not_hang_on_the_seed(slug):
    """With other hidden inputs solution and wrong answers of the exercises without a clock get the same points."""
    found = loaded(slug)
    kept = [(each.name, each.answers, each.points) for each in percent.wrong(found, "pytorch")]
    kept.append(("solution", percent.solution(found, "pytorch"), found.points))

    for seed in (f"{number:032x}" for number in range(30)):
        questions = exercise.questions(found, drawing.offering(found, "pytorch", seed))
        for name, answers, expected in kept:
            assert Here(answers).points(questions) == expected, f"{name} {seed}"


STRANGE = [
    None,
    True,
    "1.0",
    [],
    [[]],
    {},
    {"A": []},
    10**400,
    -1,
    0,
    0.0,
    1e300,
    Array((1,), "float32", (1.0,)),
    [10**400],
]


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if loaded(slug).kind != "written"])
@pytest.mark.parametrize("reply", STRANGE, ids=lambda reply: repr(reply)[:12])
def test_a_strange_reply_fails_and_breaks_no_question(slug, reply):
    """Whatever a submission replies at once, each question says that it is wrong; none raises an error of its own."""
    for question in asked(slug, "pytorch"):
        student = Here({})
        student.call = lambda *_args: reply
        student.define = lambda _source: None

        verdict = student.verdict(question)

        assert verdict.outcome is Outcome.FAILED, question.name
        assert verdict.sign


def test_a_figure_beyond_measure_fails():
    """A benchmark that does everything right, and then returns an integer that is too large for any float."""
    right = percent.solution(loaded("a-correct-benchmark"), "pytorch")["benchmark"]
    student = Here({"benchmark": right.replace("return statistics.median(times)", "return 10**400")})

    verdicts = [student.verdict(question) for question in asked("a-correct-benchmark", "pytorch")]

    assert {verdict.sign for verdict in verdicts} == {"beyond measure"}


RUNNER = """
import contextlib, io, json, linecache, sys
outcome = []
for cells in json.load(sys.stdin):
    namespace = {"__name__": "__main__"}
    failed = 0
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for number, source in enumerate(cells):
            try:
                exec(compile(source, f"<ipython-input-{number}>", "exec"), namespace)
            except Exception as error:
                if type(error).__name__ != "CheckFailed":
                    raise
                failed += 1
                break
    outcome.append([failed, printed.getvalue()])
print(json.dumps(outcome))
"""


def cells(found: Exercise, framework: str, answers: dict[str, str]) -> list[str]:
    return [
        answers.get(cell.answer, cell.source) if cell.answer else cell.source
        for cell in found.cells
        if cell.kind == "code" and cell.is_for(framework)
    ]


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_the_notebooks_cells_run_with_stubs_and_refuse_wrong_answers(framework, tmp_path):
    """All cells run as handed out and with the solution; a wrong answer fails a check, if a program can tell."""
    notebooks, expected = [], []
    for slug in SLUGS:
        found = loaded(slug)
        kept = {"stub": {}, "solution": percent.solution(found, framework)}
        automatic = found.kind != "written"
        kept |= {each.name: dict(each.answers) for each in percent.wrong(found, framework) if automatic}
        for name, answers in kept.items():
            notebooks.append(cells(found, framework, answers))
            unseen = f"{slug} {name}" in UNSEEN
            expected.append((f"{slug} {name}", name in ("stub", "solution") or unseen))

    done = subprocess.run(
        [interpreter(framework, ROOT), "-c", RUNNER],
        input=json.dumps(notebooks),
        capture_output=True,
        text=True,
        timeout=120,
        env={
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "OMP_NUM_THREADS": "1",
        },
    )

    assert done.returncode == 0, done.stderr
    for (name, right), (failed, printed) in zip(expected, json.loads(done.stdout), strict=True):
        assert (failed == 0) == right, f"{name}\n{printed}"
        assert not name.endswith(" stub") or "your-run-card" in name or "is not written yet" in printed, name


def test_no_answer_is_given_away_in_what_a_student_gets():
    """No line of a solution or of the hidden checks stands in an exercise's text."""
    for slug in SLUGS:
        text = (ROOT / "exercises" / slug / "exercise.md").read_text("utf8")
        secret = [
            *percent.solution(loaded(slug), "mxnet").values(),
            *percent.solution(loaded(slug), "pytorch").values(),
        ]
        stub = {line.strip() for cell in loaded(slug).cells for line in cell.source.split("\n")}

        for line in {line.strip() for source in secret for line in source.split("\n")} - stub:
            assert len(line) < 20 or line not in text, f"{slug}: {line}"


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("n", [1, 4, 25])
def test_a_virtual_device_keeps_to_the_cost_model(times, n):
    """Waiting once, after each, and for every third: clock and model agree, also on what is in flight."""
    model = PipelineModel(*times)
    once, each, third = (VirtualDevice(*times) for _ in range(3))

    for k in range(n):
        once.submit(k)
        each.wait(each.submit(k))
        number = third.submit(k)
        third.wait(number) if k % 3 == 2 else None
    in_flight = once.most_in_flight()
    once.wait_all()
    third.wait_all()

    assert once.clock.now() == pytest.approx(model.async_total(n))
    assert each.clock.now() == pytest.approx(model.sync_total(n))
    assert third.clock.now() == pytest.approx(model.total(n, wait_every=3))
    assert in_flight == model.pending(n)
    assert once.in_flight() == 0


def test_a_virtual_device_gives_results_and_draws_itself():
    """Its results are what `compute` gives, also when waited for late or twice; its timeline has both lanes."""
    device = VirtualDevice(1.0, 3.0, 1.0, compute=lambda batch: batch * 10, duration=lambda run: 5.0 if run else 1.0)

    numbers = [device.submit(batch) for batch in (4, 2)]
    results = [device.wait(number) for number in (*reversed(numbers), numbers[1])]

    assert results == [20, 40, 20]
    assert device.clock.now() == 1 + 1 + 5 + 1
    assert [run.end_s for run in device.runs] == [2.0, 7.0]
    assert list(device.timeline().lanes) == ["frontend", "backend"]
    assert repr(device) == "<VirtualDevice: 2 submitted, 8.0000 s>"


@pytest.mark.parametrize("number", [2, -1, True, 0.0, "0", None])
def test_a_virtual_device_refuses_what_submit_has_not_returned(number):
    """A number that no operation has is an error that says what to do; it never becomes another operation's result."""
    device = VirtualDevice(1.0, 1.0, 1.0)
    device.submit("a"), device.submit("b")

    with pytest.raises(InvalidNumberError, match="Keep what submit returns"):
        device.wait(number)


def test_work_that_is_left_over_comes_first():
    """A device that has other work in its queue begins with that."""
    device = VirtualDevice(1.0, 2.0, 0.5, leftover=10.0)

    device.wait(device.submit("a"))

    assert device.clock.now() == 12.5


@pytest.mark.parametrize(("early", "share"), [(True, 1.0), (False, 0.0)])
def test_the_hosts_work_overlaps_if_the_next_batch_is_in_the_queue(early, share):
    """What counts is whether the device had something to do while the host worked."""
    device = VirtualDevice(0.0, 4.0, 0.0)
    host = VirtualHost(device, 2.0)

    number = device.submit(0)
    for batch in range(1, 5):
        result = device.wait(number)
        number = device.submit(batch) if early else number
        host.use(result)
        number = number if early else device.submit(batch)
    host.use(device.wait(number))

    assert hidden_shares(host) == [share] * 4


def test_a_wall_clock_lets_real_time_pass():
    """With a clock on the wall, the same device and host really take their time, at least as much as they say."""
    device = VirtualDevice(0.0, 0.02, 0.0, clock=WallClock())
    host = VirtualHost(device, 0.01)
    began_s = WallClock().now()

    device.submit(0)
    host.use(device.wait(device.submit(1)))

    assert WallClock().now() - began_s >= 0.05


def test_a_virtual_clock_goes_forward_only():
    """Nobody can turn it back."""
    with pytest.raises(InvalidNumberError):
        VirtualClock().sleep(-1.0)


@pytest.mark.parametrize(
    ("submitted", "sign"), [([1], "batches missing"), ([1, 2, 2], "batches twice"), ([2, 1], "other batches")]
)
def test_what_was_submitted_is_compared_with_the_batches(submitted, sign):
    """Each batch has to be submitted once, in order; what is wrong is told without naming batches."""
    device = VirtualDevice(1.0, 1.0, 1.0)
    for batch in submitted:
        device.submit(batch)

    with pytest.raises(Failed) as caught:
        check_submitted(device, [1, 2])

    assert caught.value.verdict.sign == sign
    assert "1" not in caught.value.verdict.message


class Answering:
    """A student whose function is given."""

    def __init__(self, function):
        self.function = function

    def call(self, _name, *args):
        return self.function(*args)


def test_cases_tell_their_kind_and_never_an_input():
    """Feedback names the kinds of cases and how many are right; arguments and values are for the instructor alone."""
    ask = asking("double", {"small numbers": [(3,), (4,)], "large numbers": [(70001,)]}, lambda n: 2 * n)

    right, wrong = ask(Answering(lambda n: 2 * n)), ask(Answering(lambda n: 2 * min(n, 1000)))

    assert right.outcome is Outcome.PASSED
    assert wrong.outcome is Outcome.FAILED
    assert "\n- small numbers: 2 of 2 right\n- large numbers: 0 of 1 right" in wrong.message
    assert "70001" not in wrong.message + wrong.sign
    assert "double(70001,) gave 2000, expected 140002" in wrong.private


def test_cases_tell_a_wrong_type():
    """A reply of another type is told as what it is."""
    verdict = asking("double", {"numbers": [(3,)]}, lambda n: 2 * n)(Answering(lambda _: None))

    assert "It returned None where a value of type int is wanted." in verdict.message


def test_a_fingerprint_forgives_rounding():
    """Sums taken in another order give the same sign; other values another one."""
    assert fingerprint([0.1 + 0.2, 1]) == fingerprint([0.3, 1])
    assert (
        fingerprint(1234.565) == fingerprint(math.nextafter(1234.565, 0)) == fingerprint(math.nextafter(1234.565, 9e9))
    )
    assert fingerprint([0.31, 1]) != fingerprint([0.3, 1])
    assert fingerprint([True]) != fingerprint([1])
