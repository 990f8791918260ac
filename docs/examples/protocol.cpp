#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <vector>
int main() {
    const char *path = std::getenv("GBENCH_EVENTS"), *turns = std::getenv("GBENCH_ITERATIONS");
    std::ofstream channel(path ? path : "/dev/stdout", std::ios::app);
    std::vector<double> data(1 << 20, 1.0);
    double sum = std::accumulate(data.begin(), data.end(), 0.0);  // warm-up
    channel << R"({"event": "stage", "stage": "measure"})" << std::endl;
    for (int i = 0; i < (turns ? std::atoi(turns) : 5); ++i) {
        auto begin = std::chrono::steady_clock::now();
        sum = std::accumulate(data.begin(), data.end(), 0.0);
        std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
        channel << R"({"event": "sample", "value": )" << time.count() << "}" << std::endl;
    }
    channel << R"({"event": "validation", "passed": )" << (sum == 1 << 20 ? "true}" : "false}") << std::endl;
}
