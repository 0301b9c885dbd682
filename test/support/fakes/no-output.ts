/** Standard output for members that run within a test. */
export const noOutput = {
  size: 0,
  lost: 0,
  append: (): Promise<void> => Promise.resolve(),
  close: (): Promise<void> => Promise.resolve(),
}
