/** One version of an object as a client was shown it. */
export type ObservedObject = {
  /** `namespace/name`. */
  readonly key: string
  readonly uid: string
  readonly revision: number
  /** Of the write that made it; empty for objects that no client wrote. */
  readonly token: string
  /** All of it but kind and apiVersion, which lists leave out. */
  readonly text: string
}

/** Any JSON object, looked into without ceremony. */
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

/** The same version under another revision: how a watcher is shown what left its selection. */
export function atRevision(doc: Doc, revision: number): Doc {
  return { ...doc, metadata: { ...doc.metadata, resourceVersion: String(revision) } }
}
