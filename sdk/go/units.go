package provider

// Sizes and durations as they are written in the configuration.

import (
	"strconv"
	"strings"
	"time"
)

var sizeUnits = map[string]uint64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// parseSize parses 64MiB.
func parseSize(text string) (ByteSize, error) {
	digits, unit := number(text)
	count, err := strconv.ParseUint(digits, 10, 64)
	factor := sizeUnits[strings.TrimLeft(unit, " ")]
	if err != nil || factor == 0 || count*factor/factor != count {
		return 0, strconv.ErrSyntax
	}
	return ByteSize(count * factor), nil
}

var durationUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// parseDuration parses 10s or 1m 30s.
func parseDuration(text string) (time.Duration, error) {
	var sum time.Duration
	rest := strings.TrimSpace(text)
	for first := true; first || rest != ""; first = false {
		digits, unit := number(rest)
		unit = strings.TrimLeft(unit, " ")
		end := strings.IndexFunc(unit, func(c rune) bool { return c == ' ' || '0' <= c && c <= '9' })
		if end < 0 {
			end = len(unit)
		}
		rest = strings.TrimLeft(unit[end:], " ")
		count, err := strconv.ParseInt(digits, 10, 64)
		factor := durationUnits[unit[:end]]
		if err != nil || factor == 0 || count > int64((1<<63-1-sum)/factor) {
			return 0, strconv.ErrSyntax
		}
		sum += time.Duration(count) * factor
	}
	return sum, nil
}

// number splits a text after its digits.
func number(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// formatDuration formats a duration with one unit.
func formatDuration(duration time.Duration) string {
	for _, unit := range []string{"h", "m", "s", "ms", "us"} {
		if factor := durationUnits[unit]; duration%factor == 0 {
			return strconv.FormatInt(int64(duration/factor), 10) + unit
		}
	}
	return strconv.FormatInt(int64(duration), 10) + "ns"
}
