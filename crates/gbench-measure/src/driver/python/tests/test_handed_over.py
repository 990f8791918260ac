"""Work that the measured calls hand to somebody else: it has to be waited for within them, or the case fails."""
from .support import DriverTest, in_a_quiet_moment, written

WORK = """
import concurrent.futures, multiprocessing, queue, threading, time
def work(n=40000):
    s = 0
    for i in range(n):
        s += i
    return s
"""
POOL = WORK + """
class Bench:
    def setup(self):
        self.pool = concurrent.futures.%s(1)
    def benchmark_fn(self):
        self.pool.submit(%s)%s
    def teardown(self):
        self.pool.shutdown(wait=True)
"""
QUEUE = WORK + """
class Bench:
    def setup(self):
        self.queue = queue.Queue(maxsize=%d)
        self.thread = threading.Thread(target=self.serve, name="server")
        self.thread.start()
    def serve(self):
        while True:
            if self.queue.get() is None:
                return
            work()
    def benchmark_fn(self):
        self.queue.put(1)
    def teardown(self):
        self.queue.put(None)
        self.thread.join()
"""
AHEAD = WORK + """
class Bench:
    def setup(self):
        self.stop, self.queue = False, queue.Queue(maxsize=2)
        self.thread = threading.Thread(target=self.fill)
        self.thread.start()
    def fill(self):
        while not self.stop:
            self.queue.put(work())
    def benchmark_fn(self):
        self.queue.get()
    def teardown(self):
        self.stop = True
        while self.thread.is_alive():
            try:
                self.queue.get(timeout=0.01)
            except queue.Empty:
                pass
"""
BESIDE = WORK + """
class Bench:
    def setup(self):
        self.stop = False
        self.thread = threading.Thread(target=self.burn)
        self.thread.start()
    def burn(self):
        while not self.stop:
            work()
    def benchmark_fn(self):
        work()
    def teardown(self):
        self.stop = True
        self.thread.join()
"""


@in_a_quiet_moment
class HandedOver(DriverTest):
    def one(self, text, **request):
        return written({"b.py": text}, ["b.py"], **dict({"iterations": 5}, **request))

    def fine(self, told):
        self.nobody_at_work(told)
        self.measured(told, 5)

    def test_what_goes_on_in_a_pool_of_threads_behind_the_calls_fails_the_case(self):
        for task in ("work", "time.sleep, 0.01"):
            told = self.one(POOL % ("ThreadPoolExecutor", task, ""))
            self.somebody_at_work(told, "thread ThreadPoolExecutor-0_0", "in no sample", "`result()`")
            self.assertEqual(len(told.values()), 5)

    def test_what_goes_on_in_a_pool_of_processes_behind_the_calls_fails_the_case(self):
        told = self.one(POOL % ("ProcessPoolExecutor", "work, 400000", ""), iterations=10)
        error = self.somebody_at_work(told)
        with self.on_a_quiet_machine():  # where they wait for the processor, the threads that serve the pool are found first
            self.assertIn("process ", error["message"])

    def test_what_goes_on_behind_a_queue_fails_the_case(self):
        self.somebody_at_work(self.one(QUEUE % 0), "thread server")

    def test_a_thread_of_each_call_that_the_teardown_waits_for_fails_the_case(self):
        text = WORK + """
class Bench:
    def setup(self):
        self.threads = []
    def benchmark_fn(self):
        self.threads.append(threading.Thread(target=lambda: time.sleep(0.03)))
        self.threads[-1].start()
    def teardown(self):
        for thread in self.threads:
            thread.join()
"""
        self.somebody_at_work(self.one(text), "thread Thread-")
        built_in = text.replace("target=lambda: time.sleep(0.03)", "target=time.sleep, args=(0.03,)")
        self.somebody_at_work(self.one(built_in), "thread Thread-")
        self.fine(self.one(text.replace("[-1].start()", "[-1].start(); self.threads[-1].join()")))

    def test_a_pool_that_is_waited_for_is_fine(self):
        for kind in ("ThreadPoolExecutor", "ProcessPoolExecutor"):
            told = self.one(POOL % (kind, "work", ".result()"))
            self.fine(told)
            self.assertGreater(min(told.values()), 0.0005)

    def test_a_queue_that_is_filled_ahead_and_a_thread_beside_the_calls_are_fine(self):
        self.fine(self.one(AHEAD))
        self.fine(self.one(BESIDE))
