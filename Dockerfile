# syntax=docker/dockerfile:1
# The image holds one static binary that runs as an unprivileged user. Build it for another platform with
#   docker buildx build --platform linux/arm64 -t rouse .
ARG GO_VERSION=1.26

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags='-s -w -X k8s.io/component-base/version.gitVersion=v1.37.1 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37' -o /rouse ./cmd/rouse

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /rouse /rouse
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["/rouse"]
