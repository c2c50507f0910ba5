# Every line here is a command a person could type; the work is in tools/setup and landspeed.

.PHONY: setup lock demo atlas preview docker-base test test-quick fuzz chaos lint docs perf replay clean

setup:
	tools/setup

# The newest versions that pyproject.toml allows, with their hashes, into requirements/*.txt.
lock:
	tools/setup --dev
	tools/lock

demo: setup
	.venv/bin/landspeed run 18 17 15 13 18:bs4 --preset quick --publish
	.venv/bin/landspeed run 18 17 15 13 18:bs4 --preset quick --metric instructions --publish
	.venv/bin/landspeed compare 17 18 --workload 'read-*' --brief

# the site of the results in examples/atlas, in build/atlas/site: nothing is built or measured
atlas: setup
	tools/atlas

preview: setup
	.venv/bin/landspeed preview

# make docker-base DEBIAN=trixie: the base of toolchain images where no registry can be reached
docker-base:
	tools/docker-base $(DEBIAN)

# three workers on two cores: tests with servers wait for nearly half of their time
test:
	tools/setup --test
	.venv/bin/pytest -n 3 --dist loadgroup --durations=10

# offline, without servers, containers and browsers: at most a minute on two cores
test-quick:
	test -x .venv/bin/pytest || tools/setup --test
	.venv/bin/pytest -n 2 --dist loadgroup -m "not (slow or postgres or docker or browser or long)"

# more than 100,000 mutated archives, segments, notes, journals and archives of builds
fuzz:
	tools/setup --test
	.venv/bin/pytest -n 2 tests/landspeed/farm/test_fuzz.py --hypothesis-profile fuzz

# 200 rounds of kill -9 and of a full disk; as root, for a small file system of its own
chaos:
	tools/setup --test
	.venv/bin/python -m tests.kits.chaos

lint:
	tools/setup --dev
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	shellcheck tools/setup tools/lock tools/docker-base tools/branch-rules tools/atlas .ci/run \
		$(filter-out %.service %.nft,$(wildcard tools/runner/*))
	.venv/bin/actionlint
	.venv/bin/zizmor --offline --no-progress --persona=auditor .github action.yml

# docs/cli.md is generated from the commands
docs: setup
	.venv/bin/python -m landspeed.cli.reference > docs/cli.md

perf:
	tools/setup --dev
	.venv/bin/python -m perf

replay: setup
	.venv/bin/python -m perf.replay $(REPLAY)

# What setup and publish can make again; results and the cache are never touched.
clean:
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis
