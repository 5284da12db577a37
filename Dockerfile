# Solo in a container: docker build -t solo . && docker run --rm solo run -p "Once upon a time"
# Built on Debian with what tools/setup.sh fetches; what runs has the program, the WebGPU libraries and software Vulkan. For
# a GPU, give the container the device and its driver: --device /dev/dri, or --gpus all with NVIDIA's container toolkit.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates gcc git libc6-dev libcurl4-openssl-dev \
    libedit-dev libjansson-dev libmicrohttpd-dev libsqlite3-dev libvulkan-dev make nodejs npm python3 python3-pip
# npm trusts what the system trusts, as pip does: a proxy's certificate, where the base or a mount has one
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
COPY . /solo
WORKDIR /solo
RUN update-ca-certificates && make build && sh tools/setup.sh run && make install DESTDIR=/install PREFIX=/usr

FROM debian:bookworm-slim
COPY tools/backports.sh /tmp/
RUN sh /tmp/backports.sh bookworm && rm /tmp/backports.sh && apt-get update && \
    apt-get install -y --no-install-recommends ca-certificates libcurl4 libmicrohttpd12 libstdc++6 libvulkan1 && \
    apt-get install -y --no-install-recommends -t bookworm-backports mesa-vulkan-drivers && rm -rf /var/lib/apt/lists/*
COPY --from=build /install /
ENTRYPOINT ["solo"]
CMD ["demo"]
