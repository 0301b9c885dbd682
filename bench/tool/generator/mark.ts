/**
 * The sequence number of a write and the time at which it was sent, stored in the object for
 * watchers to read.
 */
export type Mark = { readonly number: number; readonly atMs: number }

/** @param atMs on the clock of the machine */
export function markText({ number, atMs }: Mark): string {
  return `${number} ${atMs.toFixed(3)}`
}

/** @returns null when the text is not a mark */
export function parseMark(text: string): Mark | null {
  const parts = /^(\d{1,9}) (\d{1,12}\.\d{3})$/.exec(text)
  return parts === null ? null : { number: Number(parts[1]), atMs: Number(parts[2]) }
}
