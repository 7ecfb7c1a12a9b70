// Package manifest reads fleets and jobs from files: Poise's own format in YAML
// or JSON lines, the CSV files of the openb trace, and jobs of the Standard
// Workload Format, each plain or gzip; it writes jobs in YAML and in that. It
// stands above the purity line and may import host/poise, host/resource, the
// standard library and the YAML parser. Whatever it returns is valid by the
// nouns' own Validate, has no name twice, and comes in the order of the file;
// whatever is wrong is an Error with file, line, field, value and what was
// expected, and nothing is taken as 0 for want of understanding it.
//
// Input is bounded, so that no small file can exhaust memory: at most 128 MiB
// of text after decompression, 256 KiB a line and a YAML document, and
// 1,000,000 nouns a file, copies by count included. YAML anchors, aliases and
// tags are refused.
package manifest
