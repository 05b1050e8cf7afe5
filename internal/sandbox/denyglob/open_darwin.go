package denyglob

// passFlags open a directory as a place to go on from.
const passFlags = listFlags

// maxPathBytes is the longest path that a call of the kernel can name.
const maxPathBytes = 1023
