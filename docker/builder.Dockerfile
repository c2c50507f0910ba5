# The toolchain of "landspeed build REF --in docker". docker/toolchains.toml lists the compilers and
# Debian releases; landspeed builds a missing image from the base image and apt alone.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
ARG CC=gcc-12
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      ${CC} bison ccache flex libc6-dev make ninja-build perl python3 \
 && rm -rf /var/lib/apt/lists/*
# Under its plain name, because a server reports the name its compiler was called by.
RUN ln -sf /usr/bin/${CC} /usr/local/bin/${CC%%-*}
