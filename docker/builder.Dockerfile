# A toolchain and no PostgreSQL: what "landspeed build REF --in docker" compiles with.
# Which compiler of which Debian is a row of docker/toolchains.toml; landspeed makes the image
# when it is not there. It builds anywhere: nothing but the base image and apt is needed.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
ARG CC=gcc-12
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      ${CC} bison ccache flex libc6-dev make ninja-build perl python3 \
 && rm -rf /var/lib/apt/lists/*
# By its plain name, because a server tells what its compiler called itself.
RUN ln -sf /usr/bin/${CC} /usr/local/bin/${CC%%-*}
