// Helpers shared by the load generators: options, clocks, and quantiles.
#pragma once

#include "../check.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// Options of the form `--name value`; an unknown option is an error.
class Options {
  public:
    Options(int argc, char **argv) : program_(argv[0]) {
        for (int i = 1; i < argc; i += 2) {
            if (std::strncmp(argv[i], "--", 2) != 0 || i + 1 >= argc) {
                std::fprintf(stderr, "%s: expected `--name value`, got `%s`\n", argv[0], argv[i]);
                std::exit(2);
            }
            given_[argv[i] + 2] = argv[i + 1];
        }
    }

    std::string text(const char *name, const char *otherwise) {
        const auto found = given_.find(name);
        if (found == given_.end()) {
            return otherwise;
        }
        const std::string value = found->second;
        given_.erase(found);
        return value;
    }

    double number(const char *name, double otherwise) {
        if (given_.find(name) == given_.end()) {
            return otherwise;
        }
        const std::string value = text(name, "");
        char *end;
        const double number = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != '\0' || number < 0) {
            std::fprintf(stderr, "%s: --%s: `%s` is not a number\n", program_, name, value.c_str());
            std::exit(2);
        }
        return number;
    }

    // Returns an option's value in nanoseconds. It is an integer, because a double can't represent
    // times of the system clock exactly.
    int64_t nanoseconds(const char *name) { return std::strtoll(text(name, "0").c_str(), nullptr, 10); }

    void finish() const {
        for (const auto &option : given_) {
            std::fprintf(stderr, "%s: unknown option --%s\n", program_, option.first.c_str());
        }
        if (!given_.empty()) {
            std::exit(2);
        }
    }

  private:
    const char *program_;
    std::map<std::string, std::string> given_;
};

// Returns the system clock's time in nanoseconds since 1970, so that two processes can agree on a
// start time.
inline int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

inline int64_t ns(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

inline void sleep_until(int64_t when) {
    for (int64_t left; (left = when - now_ns()) > 0;) {
        // Sleep only until shortly before the end and then spin, because a sleep may end up to 0.1
        // ms late.
        if (left > 200000) {
            usleep(static_cast<useconds_t>((left - 150000) / 1000));
        }
    }
}

// Returns the quantile `part`: the value below which this fraction of the values lies. Sorts the
// values.
inline double quantile(std::vector<double> &values, double part) {
    if (values.empty()) {
        return 0;
    }
    std::sort(values.begin(), values.end());
    const size_t at = static_cast<size_t>(std::ceil(part * values.size()));
    return values[std::min(values.size() - 1, at > 0 ? at - 1 : 0)];
}
