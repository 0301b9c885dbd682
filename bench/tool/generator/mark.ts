/** What a writer puts into an object that watchers wait for: the how manieth write it is, and when it was asked for. */
export type Mark = { readonly number: number; readonly atMs: number }

/** @param atMs on the machine's clock */
export function markText({ number, atMs }: Mark): string {
  return `${number} ${atMs.toFixed(3)}`
}

/** @returns null when nobody here wrote it */
export function parseMark(text: string): Mark | null {
  const parts = /^(\d{1,9}) (\d{1,12}\.\d{3})$/.exec(text)
  return parts === null ? null : { number: Number(parts[1]), atMs: Number(parts[2]) }
}
