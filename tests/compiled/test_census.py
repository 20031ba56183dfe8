"""Tests evidence/census.py and ptxas_counts.py without a compiler: how they read other programs'
output, and their verdicts. Needs only the standard library."""
import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evidence"))
import census  # noqa: E402  pylint: disable=wrong-import-position
import ptxas_counts  # noqa: E402  pylint: disable=wrong-import-position

# As from nvdisasm: sums with zero, a guard, a reused register, and a copy for diverged threads.
CODE = """
\t.section\t.text.k,"ax",@progbits
\t.sectionflags\t@"SHF_BARRIERS=1"
.text.k:
        /*0000*/                   FADD.FTZ R1, R2, -R3.reuse ;
        /*0010*/              @!P0 FFMA.FTZ R1, R2, R3, R1 ;
        /*0020*/                   FADD.FTZ R4, |R1|, -RZ ;
        /*0030*/                   FMUL R4, R4, c[0x0][0x160] ;
        /*0040*/                   BRA.DIV ~URZ, `(.L_x_2) ;
        /*0050*/                   FADD R7, R7, R8 ;
.L_x_1:
        /*0060*/                   EXIT ;
.L_x_2:
        /*0070*/                   FADD R7, R7, R8 ;
        /*0080*/                   BRA `(.L_x_1) ;
\t.section\t.text.other,"ax",@progbits
        /*0000*/                   FADD R1, R2, R3 ;
"""
COUNTS = "     fma      add      mul plus_zero contracted  kernel\n"
CENSUS = """kernel                                       instructions  opcodes  translated
k                                                        1000       30     99.80 %
all                                                      1000              99.80 %
refused    2 times, first at a.ptx:7
  call.uni: a call of a function
  at a.ptx:7
  at a.ptx:9
"""


class Counts(unittest.TestCase):
    def test_sums_with_zero_and_copies_for_threads_apart_are_no_fadd(self):
        self.assertEqual(ptxas_counts.code_counts(CODE),
                         {"k": [1, 2, 1, 1], "other": [0, 1, 0, 0]})

    def compare(self, ours, code, plain, separate):
        """Compares a kernel k; `plain` is its code at -O0, `separate` with -fmad=false."""
        codes = {(): code, ("-O0",): plain, ("-fmad=false",): separate}
        said = io.StringIO()
        with mock.patch.object(ptxas_counts, "run", lambda command: COUNTS + ours + "  k\n"), \
                mock.patch.object(ptxas_counts, "machine_code",
                                  lambda path, arch, *options: codes[options]), \
                contextlib.redirect_stdout(said):
            found = ptxas_counts.compare("tool", "f.ptx", "sm_80")
        return found, said.getvalue()

    def test_equal(self):
        (kernels, differ), said = self.compare("1 2 1 0 1", CODE, None, None)
        self.assertEqual((kernels, differ), (1, 0))
        self.assertTrue(said.endswith("  equal\n"), said)

    def test_what_fits_without_optimizations_is_explained(self):
        # ptxas has as many fma and one sum fewer. At -O0 it does not fuse the pair.
        apart = CODE.replace("FMUL", "FADD").replace("FFMA", "FADD")
        (_, differ), said = self.compare("1 3 1 0 1", CODE, apart, None)
        self.assertEqual(differ, 0)
        self.assertIn("equal at O0", said)
        # Nothing is fused, and a loop is unrolled.
        unrolled = CODE.replace("EXIT", "FFMA R1, R2, R3, R1")
        (_, differ), said = self.compare("1 2 1 0 0", unrolled, CODE, unrolled)
        self.assertEqual(differ, 0)
        self.assertIn("equal at O0", said)
        # A different number of fma is never explained if some are fused.
        (_, differ), said = self.compare("2 2 1 0 1", CODE, CODE, None)
        self.assertEqual(differ, 1)

    def test_a_difference(self):
        (_, differ), said = self.compare("1 5 1 0 1", CODE, CODE, None)
        self.assertEqual(differ, 1)
        self.assertIn("DIFFERS (1 2 at O0)", said)

    def test_where_nothing_is_fused_the_code_is_the_same_without_fmad(self):
        (_, differ), said = self.compare("1 2 1 0 0", CODE, None, CODE)
        self.assertEqual(differ, 0)
        self.assertIn("the same code", said)
        (_, differ), said = self.compare("1 2 1 0 0", CODE, None, CODE.replace("FFMA", "FMUL"))
        self.assertEqual(differ, 1)
        self.assertIn("OTHER CODE", said)


class Census(unittest.TestCase):
    def test_families_of_files(self):
        for name, family in (("flash_fwd_split_hdim64_bf16_sm80.ptx", "fa2_split"),
                             ("flash_fwd_hdim128_bf16_causal_sm80.nvcc.ptx", "fa2_d128"),
                             ("ragged_hdim64_bf16.ptx", "prefill"), ("own_kernel.ptx", None)):
            self.assertEqual(census.family_of(pathlib.Path(name)), family)

    def test_every_refused_line_is_named(self):
        with mock.patch.object(ptxas_counts, "run", lambda command: CENSUS):
            self.assertEqual(census.census("tool", "a.ptx"),
                             (1, 1000, 2, ["a.ptx:7: call.uni: a call of a function",
                                           "a.ptx:9: call.uni: a call of a function"]))

    def test_a_family_below_the_limit_fails(self):
        said = io.StringIO()
        with mock.patch.object(ptxas_counts, "run", lambda command: CENSUS), \
                contextlib.redirect_stdout(said):
            self.assertFalse(census.print_census("tool", [pathlib.Path("vllm_a.ptx")]))
        self.assertIn("refused: a.ptx:9: call.uni", said.getvalue())
        more = CENSUS.replace("1000", "9000")
        with mock.patch.object(ptxas_counts, "run", lambda command: more), \
                contextlib.redirect_stdout(said):
            self.assertTrue(census.print_census("tool", [pathlib.Path("vllm_a.ptx")]))


if __name__ == "__main__":
    unittest.main()
