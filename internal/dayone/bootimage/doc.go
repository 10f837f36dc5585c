// Package bootimage puts an Ignition configuration into the image that a host boots from, without copying the image.
//
// A CoreOS ISO has an area reserved for it: zeros that the boot loader gives to the kernel as one more initial file
// system. FindArea finds it and ISO lays an archive over it. An initramfs has no such area, but the kernel unpacks any
// number of archives that follow one another: Initramfs appends one. Both give an Image, which reads from the base
// image where nothing was changed, so that images of a gigabyte cost a host a few kilobytes.
//
// The archive is a gzip-compressed cpio one in the "new ASCII" form ("newc", kernel document
// driver-api/early-userspace/buffer-format), in which Ignition looks for the file config.ign. The same files give the
// same bytes. Everything that is read is bounded and checked: a damaged image is an error, never a panic.
package bootimage
