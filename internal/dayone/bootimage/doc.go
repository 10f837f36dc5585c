// Package bootimage adds an Ignition configuration to a boot image, without copying the image.
//
// A CoreOS ISO has a reserved area of zeros, which the boot loader passes to the kernel as an additional initial file system. FindArea finds the area, and
// ISO overlays it with an archive. An initramfs has no such area, but the kernel unpacks concatenated archives: Initramfs appends one. Both return an
// Image, which reads unchanged parts from the base image, so that a host needs only a few kilobytes of memory.
//
// The archive is a gzip-compressed cpio archive in the "new ASCII" format ("newc", kernel document driver-api/early-userspace/buffer-format), in which
// Ignition reads the file config.ign. The output is deterministic. All input is bounded and validated: a damaged image is an error and never a panic.
package bootimage
