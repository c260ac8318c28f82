# The image has what `npm pack` makes, with its packages as package-lock.json names them: the first stage generates the codecs, bundles the program and packs it.
FROM node:24-slim AS build
WORKDIR /opt/build
COPY package.json package-lock.json .npmrc tsconfig.json README.md LICENSE ./
COPY scripts scripts
COPY proto proto
COPY src src
COPY bin bin
COPY docs/perdure.1 docs/perdure.1
RUN npm ci --no-audit --no-fund \
 && npm pack --ignore-scripts \
 && mkdir /opt/perdure && tar -xzf perdure-*.tgz -C /opt/perdure --strip-components=1 \
 && cp package-lock.json /opt/perdure
RUN cd /opt/perdure && npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-slim
WORKDIR /opt/perdure
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/opt/perdure/.cache
COPY --from=build /opt/perdure .
# Data of the embedded log, and a compile cache that the server may add to.
RUN mkdir -p /data .cache && chown node:node /data .cache && ln -s /opt/perdure/bin/perdure /usr/local/bin/perdure
USER node
# Loads the command line once, so that it is in the compile cache of the image.
RUN perdure version
VOLUME /data
EXPOSE 7233
# Orchestrators end what is unhealthy: one damaged partition must not take all others out. Alerts ask /health. By the shell, for a Node every few
# seconds costs more than the question. A server that is to listen on another grpcPort needs it here too: -e PERDURE_GRPC_PORT=…
ENV PERDURE_GRPC_PORT=7233
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=5 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PERDURE_GRPC_PORT && printf 'GET /health/live HTTP/1.1\\r\\nHost: perdure\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r line <&3 && [[ $line == *' 200 '* ]]"]
# The script execs Node, which then is process 1 and gets the signals.
ENTRYPOINT ["perdure"]
CMD ["server", "start-dev", "--ip", "0.0.0.0", "--db-filename", "/data/perdure.db"]
