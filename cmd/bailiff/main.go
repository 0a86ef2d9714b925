// Command bailiff does a repository's chores.
package main

func main() {}
