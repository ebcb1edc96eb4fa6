# EvenReach as a container: non-root, read-only root file system, nothing compiled or fetched at start.
# The digest is what is built on; the tag says which it is. One line, and no ARG, so that Dependabot can renew it.
FROM python:3.11.17-slim-trixie@sha256:45037981b62b34b44602584fccbc4d884d5f7dc92c7ee86bb38a698a79fe1e51 AS base

FROM base AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
COPY requirements.txt /build/
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --require-hashes --only-binary :all: -r /build/requirements.txt \
 && /opt/venv/bin/pip uninstall -y pip setuptools \
 # tests of the libraries, debugging leftovers and notebook parts are never used by a server
 && find /opt/venv -type d \( -name tests -o -name test \) -prune -exec rm -rf {} + \
 && rm -rf /opt/venv/include /opt/venv/share/jupyter

COPY . /app
WORKDIR /app
# The solver is compiled here, for any processor of this kind: what is compiled is kept under the processor's name.
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/numba PATH=/opt/venv/bin:$PATH
RUN find /app /opt/venv -name '*.py' -exec touch -d @1700000000 {} + \
 && python -m compileall -q --invalidation-mode unchecked-hash /app /opt/venv \
 && python -m tkm_core.clustering.compiled

FROM base
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="EvenReach" \
      org.opencontainers.image.description="Where to put public facilities so that everyone is reached evenly" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
RUN groupadd --gid 10001 evenreach \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin evenreach \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/numba /opt/numba
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/opt/numba
USER 10001:10001
EXPOSE 8501
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-m", "pages.serving.health"]
CMD ["python", "-m", "pages.serving.server"]
