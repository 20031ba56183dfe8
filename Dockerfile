# A machine for those who work on plumbline: builds this checkout and runs its tests. The image that
# runs the command for others is that of ci/container.sh.
#   docker build -t plumbline-tests . && docker run --rm plumbline-tests
FROM debian:12
WORKDIR /plumbline
COPY ci/setup.sh ci/setup.sh
RUN ci/setup.sh
COPY . .
RUN cmake --preset host && cmake --build --preset host
CMD ["ctest", "--preset", "host"]
