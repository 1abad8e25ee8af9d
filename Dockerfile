# The service alone; docker-compose.yml brings its databases. Without a DATABASE_URL it keeps an embedded database in /data:
#   docker build -t conversation-graph .
#   docker run -p 127.0.0.1:8000:8000 -v conversation-graph:/data -e API_KEYS=some-long-secret:acme conversation-graph

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: the package `node` would fetch a second Node.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM node:24.21.0-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000 DATA_DIR=/data
RUN mkdir /data && chown node:node /data
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/dist ./dist
COPY --from=build /app/stores/postgres/migrations ./stores/postgres/migrations
# Everything else is inside the bundle.
COPY --from=build /app/node_modules/@electric-sql ./node_modules/@electric-sql
USER node
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1))"]
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=30", "--disable-warning=DEP0169", "dist/main.js"]
