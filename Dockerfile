# docker build -t gossamer .
# docker run --rm -it -v "$PWD/web:/web" gossamer crawl https://example.org

FROM node:20-bookworm-slim AS frontend
WORKDIR /build
COPY frontend frontend
COPY src/gossamer/web/static src/gossamer/web/static
RUN cd frontend && npm install --no-save --silent && npm run build

# The same Debian as the last stage, because the kernels use its C library.
FROM rust:1.90-slim-bookworm AS rust

FROM python:3.11-slim-bookworm AS native
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY --from=rust /usr/local/rustup /usr/local/rustup
COPY --from=rust /usr/local/cargo /usr/local/cargo
ENV RUSTUP_HOME=/usr/local/rustup CARGO_HOME=/usr/local/cargo PATH="/usr/local/cargo/bin:$PATH"
WORKDIR /build
COPY requirements/build.lock requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/build.lock
COPY native native
RUN maturin build --release --locked --manifest-path native/Cargo.toml --interpreter python --out /wheels

FROM python:3.11-slim-bookworm AS build
WORKDIR /build
COPY requirements/build.lock requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY --from=frontend /build/src/gossamer/web/static/dist src/gossamer/web/static/dist
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.11-slim-bookworm
COPY requirements/run.lock /tmp/
RUN pip install --no-cache-dir --require-hashes -r /tmp/run.lock && rm /tmp/run.lock
COPY --from=build /wheels /tmp/wheels
COPY --from=native /wheels /tmp/wheels
RUN pip install --no-cache-dir --no-index --no-deps /tmp/wheels/*.whl && rm -r /tmp/wheels \
    && useradd --create-home gossamer \
    && install --directory --owner gossamer --group gossamer /web
USER gossamer
ENV GOSSAMER_STORE=/web
VOLUME /web
WORKDIR /web
# SIGINT, as Ctrl-C: the crawl finishes its running requests and commits.
STOPSIGNAL SIGINT
ENTRYPOINT ["gossamer"]
CMD ["--help"]
