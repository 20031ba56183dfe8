# A machine that can build and test plumbline: docker build -t plumbline . && docker run plumbline
FROM debian:12
WORKDIR /plumbline
COPY ci/setup.sh ci/setup.sh
RUN ci/setup.sh
COPY . .
RUN cmake --preset host && cmake --build --preset host
CMD ["ctest", "--preset", "host"]
