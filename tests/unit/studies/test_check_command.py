"""The command that starts a script: what it gives, what it must not bind, and what it decides."""

import pytest

from costs import checked, is_proven, said, unproven, upper
from pillar_core.commands import parser
from pillar_core.studies.check import read_script

PRIVATE = """
from opacus import PrivacyEngine
loader = DataLoader(rows, batch_size={batch})
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier={sigma},
    max_grad_norm=1.0)
"""
BY_NAME = PRIVATE.format(batch="args.batch_size", sigma="args.sigma")
PARSER = """
parser = argparse.ArgumentParser()
parser.add_argument("-b", "--batch-size", type=int, default=64)
parser.add_argument("-s", "--sigma", type=float, default=1.0)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--disable-dp", action="store_true")
args = parser.parse_args()
"""
ARGPARSE = PARSER + BY_NAME + "for epoch in range(args.epochs): train()\n"


def indented(text):
    return text.replace("\n", "\n    ")


OPTIONS = {
    "argparse": ARGPARSE,
    "argparse as a dictionary": PARSER
    + "config = vars(args)\n"
    + PRIVATE.format(batch="config['batch_size']", sigma="config['sigma']")
    + "for epoch in range(config['epochs']): train()\n",
    "argparse into a function": PARSER
    + "def main(batch_size, sigma, epochs, disable_dp):"
    + indented(PRIVATE.format(batch="batch_size", sigma="sigma"))
    + "for epoch in range(epochs): train()\nmain(**vars(args))\n",
    "argparse in an object": PARSER
    + "class Work:\n    def __init__(self, args):\n        self.args = args\n    def begin(self):"
    + indented(
        indented(PRIVATE.format(batch="self.args.batch_size", sigma="self.args.sigma"))
        + "for epoch in range(self.args.epochs): train()\n"
    )
    + "\nWork(args).begin()\n",
    "absl": "FLAGS = flags.FLAGS\nflags.DEFINE_integer('batch_size', 64, '')\n"
    "flags.DEFINE_float('sigma', 1.0, '')\nflags.DEFINE_integer('epochs', 5, '')\n"
    + PRIVATE.format(batch="FLAGS.batch_size", sigma="FLAGS.sigma")
    + "for epoch in range(FLAGS.epochs): train()\n",
    "click": "@click.command()\n@click.option('--batch-size', default=64)\n"
    "@click.option('--sigma', type=float)\n@click.option('--epochs', default=5)\n"
    "def main(batch_size, sigma, epochs):"
    + indented(PRIVATE.format(batch="batch_size", sigma="sigma"))
    + "for epoch in range(epochs): train()\nmain()\n",
    "fire": "def main(batch_size=64, sigma=1.0, epochs=5):"
    + indented(PRIVATE.format(batch="batch_size", sigma="sigma"))
    + "for epoch in range(epochs): train()\nfire.Fire(main)\n",
    "dataclasses": "@dataclass\nclass Options:\n    batch_size: int = 64\n"
    "    sigma: float = field(default=1.0, metadata={})\n    epochs: int = 5\n"
    "args, = HfArgumentParser(Options).parse_args_into_dataclasses()\n"
    + BY_NAME
    + "for epoch in range(args.epochs): train()\n",
    "dataclasses elsewhere": "from own import Options, More\n"
    "args, more = HfArgumentParser((Options, More)).parse_args_into_dataclasses()\n"
    + BY_NAME
    + "for epoch in range(more.epochs): train()\n",
}
OPTIONS["dataclasses or a file"] = (
    "parser = HfArgumentParser((Options, More))\nif len(sys.argv) == 2:\n"
    "    args, more = parser.parse_json_file(sys.argv[1])\nelse:\n"
    "    args, more = parser.parse_args_into_dataclasses()\n"
    + OPTIONS["dataclasses elsewhere"].partition("dataclasses()\n")[2]
)
COMMAND = "python train.py --batch-size 100 --sigma=1.5 --epochs 20 --lr 1e-3"
WANTED = {"batch_size": 100, "noise_multiplier": 1.5, "epochs": 20}


@pytest.mark.parametrize("name", OPTIONS)
def test_what_the_command_gives_counts_and_is_said_back(name):
    command = COMMAND if name != "absl" else COMMAND.replace("batch-size", "batch_size")
    read = read_script(OPTIONS[name], command.replace("batch-size", "batch_size"))
    assert {field: read.values.get(field) for field in WANTED} == WANTED
    assert "From the command: --batch_size 100, --epochs 20, --sigma 1.5." in read.unread


@pytest.mark.parametrize(
    "command",
    [
        "python train.py -b 100 -s 1.5 --epochs 20",
        "python train.py -b=100 -s=1.5 --epochs=20",
        "CUDA_VISIBLE_DEVICES=0 python -u train.py -s 0.1 --sigma 1.5 -b 100 --epochs 20  # last",
        "cd here\nexport A=1\npython -m own.train -b 100 \\\n   --sigma 1.5 --epochs '20'\necho done",
        "torchrun --nproc_per_node 2 train.py --disable-dps --batch_size 100 --sigma 1.5 --epochs 20",
        "--batch-size 100 --sigma 1.5 --epochs 20",
    ],
)
def test_a_command_is_read_as_the_shell_and_the_parser_read_it(command):
    read = read_script(ARGPARSE, command)
    assert {field: read.values.get(field) for field in WANTED} == WANTED


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (ARGPARSE, "python train.py --sig 0.1"),
        (ARGPARSE, "python train.py -vs 0.1"),
        (ARGPARSE, "python train.py -s0.1"),
        (ARGPARSE, "python train.py --model.sigma 0.1"),
        (ARGPARSE, "python train.py --sigma $SIGMA"),
        (ARGPARSE, "python train.py --sigma 1.5 0.1"),
        (ARGPARSE, "python train.py --sigma"),
        (ARGPARSE, "python train.py --sigma low"),
        (ARGPARSE.replace("type=float", "type=share"), "python train.py --sigma 1.5"),
        (ARGPARSE.replace("type=float", "nargs='+'"), "python train.py --sigma 1.5"),
        (ARGPARSE.replace('"-s", "--sigma"', '"sigma"'), "python train.py 0.1"),
        (
            ARGPARSE.replace('"-s", "--sigma"', '"sigma", nargs="?"'),
            "python train.py 0.1",
        ),
        (OPTIONS["fire"], "python train.py 32 0.1"),
        (OPTIONS["fire"], "python train.py --epochs 3 0.1"),
        (OPTIONS["dataclasses elsewhere"], "python train.py --sig 0.1"),
        (OPTIONS["dataclasses elsewhere"], "python train.py --batch_size 9"),
        (OPTIONS["dataclasses"].replace("(Options)", "(Others)"), "python train.py --sigma 1.5"),
        (ARGPARSE.replace("loader = D", "args.sigma *= 0.1\nloader = D"), COMMAND),
        (
            ARGPARSE.replace("loader = D", "if other: args.sigma = 0.1\nloader = D"),
            COMMAND,
        ),
        (
            ARGPARSE.replace(
                "loader = D", "if args.sigma is not None: args.sigma /= 9\nloader = D"
            ),
            COMMAND,
        ),
        (
            ARGPARSE.replace(
                "loader = D", "def low(): args.sigma = 0.1\nargs.sigma = 1.5\nlow()\nloader = D"
            ),
            COMMAND,
        ),
        (
            "def main():"
            + indented(ARGPARSE + "args.sigma = 0.1\n")
            + "\nfor turn in range(2): main()\n",
            COMMAND,
        ),
        (
            ARGPARSE.replace("\nfrom opacus", "\nfor turn in range(2):\n  from opacus", 1)
            .replace("\nloader", "\n  loader")
            .replace("\nmodel", "\n  model")
            .replace("\nfor epoch", "\n  args.sigma = 0.1\nfor epoch"),
            COMMAND,
        ),
        (OPTIONS["absl"] + "flags.DEFINE_alias('noise', 'sigma')", "python train.py --noise 0.1"),
        (OPTIONS["dataclasses or a file"], "python train.py options.json --sigma 1.5"),
        (OPTIONS["argparse as a dictionary"] + "config['sigma'] = 0.1", ""),
        (PARSER + "config = vars(args)\nconfig[KEY] = 0.1\n" + BY_NAME, COMMAND),
        (OPTIONS["argparse in an object"] + "work.args.sigma = 0.1", COMMAND),
        (
            OPTIONS["argparse in an object"].replace(
                "self.args = args", "self.args = args\n        vars(self.args)[KEY] = 0.1"
            ),
            COMMAND,
        ),
        (
            OPTIONS["argparse in an object"].replace("self.args", "self.config")
            + "\nwork.config = wandb.config",
            COMMAND,
        ),
    ],
)
def test_an_option_that_may_be_another_number_is_asked_for(text, command):
    read = read_script(text, command)
    assert "noise_multiplier" not in read.values


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --sigma 'x",
        "python train.py; python train.py --sigma 0.1",
        "python train.py --sigma 1.5\npython train.py --sigma 0.1",
        "python train.py $OPTIONS",
        'python train.py --disable-dp "$@"',
        "python train.py @options.txt",
        "python train.py --flagfile=options.txt",
        "python train.py --sigma $(cat sigma)",
        "for s in 1 2; do python train.py --sigma $s; done",
        "#",
    ],
)
def test_a_command_that_is_not_one_with_its_options_is_refused_by_name(command):
    told = unproven(n=60_000, delta=1e-5, script=ARGPARSE, command=command)
    assert "command" in told or "write them out" in told


def test_what_an_option_changes_later_or_elsewhere_is_no_number_of_the_set_up():
    """A fine-tuning script writes σ back to its options behind the set-up, and 0 where it trains
    without."""
    text = ARGPARSE.replace("loader = D", "if args.disable_dp: args.sigma = 0.0\nloader = D")
    text += "args.sigma = engine.noise_multiplier\n"
    assert read_script(text, COMMAND).values["noise_multiplier"] == 1.5
    assert "noise_multiplier" not in read_script(text).values
    text = ARGPARSE.replace("loader = D", "args.sigma = 0.1\nloader = D")
    assert read_script(text, COMMAND).values["noise_multiplier"] == 0.1
    filled = "if args.{0} is None: args.{0} = {1}\n"
    text = ARGPARSE.replace("type=float, default=1.0", "type=float")
    text = text.replace("loader = D", filled.format("sigma", 0.7) + "loader = D")
    assert read_script(text, COMMAND).values["noise_multiplier"] == 1.5
    assert read_script(text, "python train.py").values["noise_multiplier"] == 0.7


def test_a_set_up_that_the_command_leaves_out_has_no_epsilon():
    text = PARSER + "if not args.disable_dp:" + indented(BY_NAME)
    given = {"n": 60_000, "epochs": 5, "delta": 1e-5, "script": text}
    assert is_proven(checked(**given, command="python train.py"))
    assert "Line 11: privacy is set up only where not args.disable_dp is True" in unproven(
        **given, command="python train.py --disable-dp", noise_multiplier=1.0
    )
    for short in ("--dis", "--disable"):
        assert f"{short} of the command may decide it" in unproven(
            **given, command=f"python train.py {short}", noise_multiplier=1.0
        )
    # An option that sets privacy up only where it is given: at its default, nothing is private.
    opted = {**given, "script": text.replace("not args.disable_dp", "args.disable_dp")}
    check = checked(**opted)
    assert not is_proven(check)
    assert "Say how you start it (command)" in said(check)
    both = checked(**opted, command="python train.py --disable-dp")
    assert both.epsilon == checked(**given).epsilon
    asked = text.replace('"store_true"', '"store"')
    read = read_script(asked, "python train.py --disable-dp no")
    assert "privacy is set up only where not args.disable_dp is True. Please" in " ".join(
        read.unread
    )


def test_of_two_set_ups_the_one_that_the_command_takes_counts():
    text = (
        PARSER
        + "if args.sigma > 1.2:"
        + indented(BY_NAME)
        + "\nelse:"
        + indented(BY_NAME.replace("args.sigma", "0.2"))
    )
    assert "noise_multiplier" not in read_script(text).values
    assert read_script(text, COMMAND).values["noise_multiplier"] == 1.5


def test_files_of_their_own_are_named():
    text = "import hydra\n@hydra.main()\ndef main(cfg):" + indented(
        PRIVATE.format(batch="cfg.batch_size", sigma="cfg.sigma")
    )
    assert "Line 1, hydra: it takes its numbers from configuration files" in unproven(
        n=60_000, epochs=5, delta=1e-5, script=text, command="python train.py sigma=1.5"
    )


TUNE = """
from own import Model, Train, Privacy
def main():
    model_args, train_args, private_args = HfArgumentParser((Model, Train, Privacy)
        ).parse_args_into_dataclasses()
    trainer = Trainer(model=model, args=train_args)
    try:
        workers = torch.distributed.get_world_size()
    except RuntimeError:
        workers = 1
    if train_args.whole_batch != None:
        trainer.args.turns = train_args.whole_batch / train_args.part / workers
    else:
        train_args.whole_batch = trainer.args.turns * train_args.part * workers
    if private_args.without:
        private_args.noise_multiplier = 0.0
    else:
        engine = PrivacyEngine(
            model, batch_size=train_args.whole_batch, sample_size=len(rows),
            epochs=train_args.num_train_epochs, max_grad_norm=private_args.clip,
            noise_multiplier=private_args.noise_multiplier,
            target_epsilon=private_args.target_epsilon, target_delta=private_args.target_delta)
        private_args.noise_multiplier = engine.noise_multiplier
main()
"""


def test_a_fine_tuning_script_asks_for_its_command_and_its_rows():
    """Its numbers are options of classes in another file: five questions before."""
    asked = checked(script=TUNE)
    questions = [line for line in asked.problems if line.startswith(("Say ", "Give "))]
    assert len(questions) == 2
    assert questions[0].startswith("Say how you start it (command): its options say batch_size, d")
    start = "python tune.py --without no --part 50 --turns 20 --num_train_epochs 10"
    for command, batch in ((start, 1_000), (f"{start} --whole_batch 1024", 1_024)):
        check = checked(n=42_000, script=TUNE, command=f"{command} --noise_multiplier 0.8")
        given = {"n": 42_000, "batch_size": batch, "epochs": 10, "noise_multiplier": 0.8}
        assert {name: check.counted[name] for name in given} == given
        bare = checked(**given, delta=check.counted["delta"], sampler="shuffled")
        assert upper(check) == upper(bare)
    solved = checked(n=42_000, script=TUNE, command=f"{start} --target_epsilon 8")
    assert "noise_multiplier: the command says nothing of it, and it is taken for None" in said(
        solved
    )
    several = f"torchrun --nproc_per_node 4{start.removeprefix('python')} --noise_multiplier 0.8"
    check = checked(n=42_000, script=TUNE, command=several)
    assert "batch_size" not in check.counted
    assert "4 processes" in said(check)


def test_the_command_line_takes_the_command_of_the_script(tmp_path, capsys):
    (tmp_path / "train.py").write_text(ARGPARSE)
    told = ["check", str(tmp_path / "train.py"), "--n", "60000", "--delta", "1e-6"]
    options = parser().parse_args([*told, "--command", COMMAND])
    assert options.command(options) == 1
    shown = capsys.readouterr().out
    assert "noise_multiplier = 1.5" in shown
    assert "! From the command: --batch_size 100, --epochs 20, --sigma 1.5." in shown
