# The first stage generates the codecs, bundles the program and drops the development packages; the image has the bundle and no sources.
FROM node:24-slim AS build
WORKDIR /opt/perdure
COPY package.json package-lock.json .npmrc tsconfig.json ./
COPY scripts scripts
COPY proto proto
COPY src src
COPY bin bin
RUN npm ci --no-audit --no-fund \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-slim
WORKDIR /opt/perdure
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/opt/perdure/.cache
COPY --from=build /opt/perdure/package.json package.json
COPY --from=build /opt/perdure/node_modules node_modules
COPY --from=build /opt/perdure/dist dist
COPY --from=build /opt/perdure/bin bin
# Data of the embedded log, and a compile cache that the server may add to.
RUN mkdir -p /data .cache && chown node:node /data .cache && ln -s /opt/perdure/bin/perdure /usr/local/bin/perdure
USER node
# Loads the command line once, so that it is in the compile cache of the image.
RUN perdure version
VOLUME /data
EXPOSE 7233
# Orchestrators end what is unhealthy: one damaged partition must not take all others out. Alerts ask /health.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=5 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7233/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The script execs Node, which then is process 1 and gets the signals.
ENTRYPOINT ["perdure"]
CMD ["server", "start-dev", "--ip", "0.0.0.0", "--db-filename", "/data/perdure.db"]
