package main

import "fmt"

// A red dot, and a sound of no length.
const (
	dot     = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func textBlock(text string) object { return object{"type": "text", "text": text} }

func imageBlock() object { return object{"type": "image", "data": dot, "mimeType": "image/png"} }

func resourceBlock(uri, mimeType, text string) object {
	return object{"type": "resource", "resource": textContents(uri, mimeType, text)}
}

func textContents(uri, mimeType, text string) object {
	return object{"uri": uri, "mimeType": mimeType, "text": text}
}

// given is the result of a tool that gives these blocks.
func given(blocks ...object) object { return object{"content": blocks} }

// said is the result of a tool that gives a text.
func said(format string, args ...any) object { return given(textBlock(fmt.Sprintf(format, args...))) }

// failed is the result of a tool that could not do what it is for.
func failed(why string) object { return object{"content": []object{textBlock(why)}, "isError": true} }
