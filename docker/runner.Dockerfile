# A runner for counted metrics, which are the same on any machine and in any container. The image
# has what landspeed needs to compile and count, from apt alone. GitHub's runner is mounted read-only
# at /runner: docs/runner.md.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
# The packages of tools/setup, and the libraries that GitHub's runner needs.
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      build-essential bison flex perl ccache git xz-utils bzip2 ca-certificates \
      debian-archive-keyring valgrind bubblewrap python3 python3-venv \
      curl iproute2 procps libicu72 libkrb5-3 libssl3 zlib1g \
 && rm -rf /var/lib/apt/lists/*
RUN install --directory /var/lib/landspeed && touch /var/lib/landspeed/.landspeed-runner \
 && useradd --create-home --home-dir /var/lib/landspeed/home --shell /usr/sbin/nologin landspeed-runner \
 && install --directory --owner=landspeed-runner /opt/actions-runner \
      /var/lib/landspeed/cache /var/lib/landspeed/results
COPY tools/runner /opt/landspeed/tools/runner
ENV ACTIONS_RUNNER_HOOK_JOB_STARTED=/opt/landspeed/tools/runner/job-started \
    ACTIONS_RUNNER_HOOK_JOB_COMPLETED=/opt/landspeed/tools/runner/job-completed \
    LANDSPEED_CACHE=/var/lib/landspeed/cache \
    LANDSPEED_RESULTS=/var/lib/landspeed/results
USER landspeed-runner
WORKDIR /opt/actions-runner
ENTRYPOINT ["/opt/landspeed/tools/runner/run-once"]
