package cli

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/poise-sched/poise/host/policy"
)

// junitSuite is the part of the JUnit format that tools agree on. There are no
// times in it: the same run gives the same file.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	File    string        `xml:"classname,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Log     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(w io.Writer, m *policy.Module, results []caseResult) error {
	suite := junitSuite{Name: m.Manifest.Name + " " + m.Manifest.Version, Tests: len(results)}
	for i := range results {
		r := &results[i]
		c := junitCase{Name: r.name, File: r.path, Log: strings.Join(r.log, "\n")}
		if c.Name == "" {
			c.Name = r.path
		}
		switch r.status() {
		case "error":
			suite.Errors++
			c.Error = &junitProblem{Message: "the case cannot be run", Text: r.broken.Error()}
		case "FAIL":
			suite.Failures++
			c.Failure = &junitProblem{Message: r.problems[0], Text: strings.Join(r.problems, "\n")}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
