package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

func TestStress(t *testing.T) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	for _, n := range []int{16 << 10, 64 << 10} {
		for _, c := range []struct{ name, unit, tail string }{
			{"quote", ">", "x"},
			{"quotelines", ">>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>\n", "x"},
			{"list", "- ", "x"},
			{"olist", "1. ", "x"},
			{"em", "*a _a ", ""},
			{"emopen", "*a ", strings.Repeat("a* ", n/3)},
			{"em2", "**a *b ", ""},
			{"star", "*", ""},
			{"starsp", "* a", ""},
			{"br", "[", ""},
			{"brs", "[a](", ""},
			{"img", "![", strings.Repeat("](a)", n/4)},
			{"bt", "`a``b", ""},
			{"ticks", "", ticks(n)},
			{"html", "<a ", ""},
			{"html2", "<!--", ""},
			{"html3", "<?", ""},
			{"html4", "<![CDATA[", ""},
			{"html5", "<!A ", ""},
			{"tilde", "~~a ", ""},
			{"table", "|", "\n" + strings.Repeat("|-", n/2) + "\n" + strings.Repeat("|a", n/2)},
			{"tablerows", "|a", "\n" + strings.Repeat("|-", n/2) + "\n" + strings.Repeat("|\n", n/2)},
			{"refs", "[a]: b\n", strings.Repeat("[a]", n/3)},
			{"heads", "# a\n", ""},
			{"entity", "&a", ""},
			{"auto", "<http:", ""},
			{"para", "a\n", ""},
			{"nestlist", "", nest(n)},
			{"nl", "\n", ""},
			{"qnl", ">\n\n", ""},
			{"setext", "a\n=\n", ""},
			{"paren", "[a](" + "(", ""},
			{"bs", "\\", ""},
		} {
			src := []byte(strings.Repeat(c.unit, n/max(1, len(c.unit))) + c.tail)
			start := time.Now()
			var b bytes.Buffer
			done := make(chan bool)
			go func() { md.Convert(src, &b); close(done) }()
			select {
			case <-done:
			case <-time.After(15 * time.Second):
				fmt.Println("TIMEOUT", n, c.name)
				continue
			}
			if d := time.Since(start); d > 100*time.Millisecond {
				fmt.Println(n, c.name, len(src), d, b.Len())
			}
		}
	}
}

func ticks(n int) string {
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString("e" + strings.Repeat("`", i))
	}
	return b.String()
}

func nest(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	return b.String()
}
