# docker build --tag belfry:0.1.0 .
ARG RUST=docker.io/library/rust:1.95-bookworm
# Without a shell; contains glibc, libgcc and the certificate authorities.
ARG BASE=gcr.io/distroless/cc-debian12

FROM ${RUST} AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist --bin belfry \
    && install -D --target-directory=/out/usr/bin target/dist/belfry \
    && install -d -m 700 /out/var/lib/belfry

FROM ${BASE}
LABEL org.opencontainers.image.title="Belfry" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/belfry/
COPY --from=build /out/usr/bin/belfry /usr/bin/belfry
# A new volume gets the owner and mode of this directory.
COPY --from=build --chown=65532:65532 /out/var/lib/ /var/lib/
# A number, so that Kubernetes can verify that it is not root.
USER 65532:65532
WORKDIR /var/lib/belfry
VOLUME /var/lib/belfry
ENV BELFRY_DATA=/var/lib/belfry BELFRY_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/bin/belfry", "health"]
ENTRYPOINT ["/usr/bin/belfry"]
CMD ["serve"]
