package openflow

import "testing"

func FuzzAsync(f *testing.F)    { fuzzMessage(f, "async", TypeGetAsyncReply) }
func FuzzSetAsync(f *testing.F) { fuzzMessage(f, "set async", TypeSetAsync) }

// fuzzEntries lets the parser of one kind of multipart reply read anything; what it reads it must read again when written.
func fuzzEntries[T any](f *testing.F, kind uint16, parse func(Version, []byte) ([]T, error), write func(Version, T) []byte) {
	for _, v := range versions {
		for _, s := range samples(f, v) {
			if p, err := ParseMultipart(s.msg); err == nil && p.Kind == kind {
				f.Add(p.Body)
			}
		}
	}
	addCaptured(f, kind)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range versions {
			all, err := parse(v, body)
			checkError(t, err)
			for _, x := range all {
				again(t, v, x, write, list(parse))
			}
		}
	})
}

// one makes a reader of a list from that of a body which is one value.
func one[T any](parse func(Version, []byte) (T, error)) func(Version, []byte) ([]T, error) {
	return func(v Version, b []byte) ([]T, error) {
		x, err := parse(v, b)
		return []T{x}, err
	}
}

func FuzzGroupStats(f *testing.F) {
	fuzzEntries(f, MultipartGroupStats, ParseGroupStats, writeGroupStats)
}
func FuzzMeterStats(f *testing.F) {
	fuzzEntries(f, MultipartMeterStats, ParseMeterStats, writeMeterStats)
}
func FuzzAggregate(f *testing.F) {
	fuzzEntries(f, MultipartAggregate, one(ParseAggregate), writeAggregate)
}
func FuzzGroupFeatures(f *testing.F) {
	fuzzBody(f, MultipartGroupFeatures)
}
func FuzzMeterFeatures(f *testing.F) {
	fuzzBody(f, MultipartMeterFeatures)
}

// FuzzFlush: what is read of a flush is read again when written.
func FuzzFlush(f *testing.F) {
	addSamples(f, TypeExperimenter)
	f.Fuzz(func(t *testing.T, msg []byte) {
		ParseCTFlushZone(msg)
		flush, err := ParseCTFlush(msg)
		checkError(t, err)
		if err != nil {
			return
		}
		for _, v := range versions {
			again(t, v, flush, func(v Version, f CTFlush) []byte { return must(t)(AppendCTFlush(nil, v, 1, &f)) }, readFlush)
		}
	})
}
