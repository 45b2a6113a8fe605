# docker build -t gossamer .
# docker run --rm -it -v "$PWD/web:/web" gossamer crawl https://example.org

FROM node:20-bookworm-slim AS frontend
WORKDIR /build
COPY frontend frontend
COPY src/gossamer/web/static src/gossamer/web/static
RUN cd frontend && npm install --no-save --silent && npm run build

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
RUN pip install --no-cache-dir --no-deps /tmp/wheels/*.whl && rm -r /tmp/wheels \
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
