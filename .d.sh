cd /tmp/tryd; D=/tmp/pytest-of-root/pytest-18/test_check_prints_what_the_pac0/ROUNDING.safetensors
/work/main/build/host/bin/plumbline check $D | cat
env | grep -i col
ls -la /work/main/build/host/bin /tmp/fastobj/harness_report_layout.cc.o
