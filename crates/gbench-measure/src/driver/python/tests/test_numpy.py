"""Benchmarks that use numpy: seeds, references and settings. Skipped where the interpreter has no numpy."""
import subprocess
import unittest

from .support import PYTHON, DriverTest, drive, function, pair, single

HAS_NUMPY = subprocess.run([PYTHON, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(HAS_NUMPY, "numpy is not installed in " + PYTHON)
class Numpy(DriverTest):
    def kernel(self, **params):
        return single(function("numpy_kernel.py", params=dict({"n": 64}, **params), tolerances={"max_error": 0.1}), "kernels")

    def test_s1_10_arrays_are_compared_with_the_reference(self):
        told = self.kernel()
        self.assertEqual(told.one("validation")["errors"], {"rmse": 0.0, "max_error": 0.0, "relative_error": 0.0})
        self.assertTrue(told.one("validation")["passed"])
        wrong = self.kernel(shift=0.25).one("validation")
        self.assertFalse(wrong["passed"])
        self.assertAlmostEqual(wrong["errors"]["max_error"], 0.25)
        self.assertFalse(self.kernel(shift=float("nan")).one("validation")["passed"])

    def test_s0_27_numpy_is_seeded_before_the_modules_own_code(self):
        def drawn(seed):
            told = single(function("numpy_kernel.py", function="drawn"), "kernels", seed=seed, cold=True)
            self.assertIn("numpy", told.notes()["seeded"])
            return told.values("ttft")

        self.assertEqual(drawn(7), drawn(7))
        self.assertNotEqual(drawn(7), drawn(8))

    def test_s0_30_its_version_is_recorded_without_importing_it(self):
        told = single(pair("ch2/baseline_minimal.py"))
        self.assertRegex(told.events[0]["notes"]["packages"]["numpy"], r"^\d+\.\d+")

    def test_an_array_as_the_output_has_a_digest(self):
        told = single(function("numpy_kernel.py", params={"n": 8}), "kernels", options={"check_determinism": True})
        self.assertEqual(told.notes()["determinism"], "two runs from one seed agree")

    def test_settings_of_numpy_are_put_back(self):
        told = drive([pair("numpy_settings.py"), pair("numpy_settings.py")], "misbehaving")
        self.assertEqual([event["passed"] for event in told.of("validation")], [True, True])
