/** One version of an object as a client received it. */
export type ObservedObject = {
  /** `namespace/name`. */
  readonly key: string
  readonly uid: string
  readonly revision: number
  /** The token of the write that created the version; empty for objects that no client wrote. */
  readonly token: string
  /** The whole object without kind and apiVersion, which lists omit. */
  readonly text: string
}

/** Any JSON object, with unchecked access. */
export type Doc = {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata?: {
    readonly name?: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly continue?: string
    readonly remainingItemCount?: number
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly items?: readonly Doc[]
  readonly reason?: string
}

export function docOf(bytes: Uint8Array): Doc {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as Doc
}

export function observedObject(doc: Doc): ObservedObject {
  const { metadata, data } = doc
  return {
    key: `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`,
    uid: metadata?.uid ?? '',
    revision: Number(metadata?.resourceVersion),
    token: data?.['token'] ?? '',
    text: textOf(doc),
  }
}

function textOf(doc: Doc): string {
  return JSON.stringify({ ...doc, kind: undefined, apiVersion: undefined })
}

/**
 * Returns the same version with another revision. A watch sends an object that left its selection
 * like this.
 */
export function atRevision(doc: Doc, revision: number): Doc {
  return { ...doc, metadata: { ...doc.metadata, resourceVersion: String(revision) } }
}
