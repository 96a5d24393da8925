"""Whether shipped experiments are valid by the schema, and bad files are not: python3 .ci/schema/validate.py

Needs jsonschema and yaml, which know nothing of the schema's own checker. Some mistakes only the program sees: names that
lead nowhere, sentences, units. Files of testbed/tests/bad that have no others are listed in MEANING.
"""

import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
import json  # noqa: E402

import jsonschema  # noqa: E402
import yaml  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "testbed" / "schema" / "experiment.v1.json"
BAD = "testbed/tests/bad/*.yaml"
GOOD = ("experiments/**/*.yaml", "docs/*.yaml", "testbed/schema/*.yaml")
MEANING = {"names", "scorecard", "scorecard-axes", "sentences", "trace"}
# Mistakes in the YAML itself that this parser takes for right.
LENIENT = {"duplicate-field"}


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def mistakes(validator, path):
    """What the validator says of a file, one line each."""
    try:
        document = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        return [f"not YAML: {str(error).splitlines()[0]}"]
    # A key of YAML may be a number; one of JSON is text.
    document = json.loads(json.dumps(document))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:120]}" for error in validator.iter_errors(document)]


def main():
    schema = json.loads(SCHEMA.read_text())
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#", "editors know draft-07 for longest"
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    good, bad, wrong = tracked(*GOOD), tracked(BAD), []
    for path in good:
        wrong += [f"{path.relative_to(ROOT)}: {mistake}" for mistake in mistakes(validator, path)]
    for path in bad:
        seen = bool(mistakes(validator, path))
        if seen == (path.stem in MEANING | LENIENT):
            wrong.append(f"{path.relative_to(ROOT)}: {'refused, though only its meaning is wrong' if seen else 'accepted'}")
    print("\n".join(wrong) or f"{len(good)} experiments are valid by the schema, {len(bad)} bad files are as expected")
    if wrong or not good or not bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
