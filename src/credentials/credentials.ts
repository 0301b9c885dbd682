/** A client certificate with its key, PEM text. The certificate may include intermediates. */
export type ClientIdentity = { readonly certificate: string; readonly key: string }

/** The value has one character per byte, as Node sends headers. */
export type Header = { readonly name: string; readonly value: string }

/** The credentials of one request. Plain data, which other threads may receive. */
export type Credentials = {
  /** Bearer token; null: none. */
  readonly token: string | null
  /** null: none */
  readonly identity: ClientIdentity | null
  /** Headers that name the user to act as; empty: the authenticated one. */
  readonly impersonation: readonly Header[]
}

/** The credentials of one user, which may be renewed while a program runs. */
export type CredentialSource = {
  /**
   * Returns the credentials for the next request.
   *
   * @throws CredentialError
   */
  readonly current: () => Promise<Credentials>
  /**
   * Reports that a server answered 401 to a request with these credentials.
   *
   * @returns credentials to repeat the request with; null: there are no others
   * @throws CredentialError
   */
  readonly renew: (refused: Credentials) => Promise<Credentials | null>
}

export const noCredentials: Credentials = Object.freeze({ token: null, identity: null, impersonation: [] })

/** Returns a source of credentials that never change. */
export function fixedCredentials(credentials: Partial<Credentials>): CredentialSource {
  const all = { ...noCredentials, ...credentials }
  return { current: () => Promise.resolve(all), renew: () => Promise.resolve(null) }
}

/** Returns the headers that present token and impersonation. */
export function credentialHeaders({ token, impersonation }: Credentials): readonly Header[] {
  return token === null
    ? impersonation
    : [{ name: 'authorization', value: `Bearer ${token}` }, ...impersonation]
}

/** Returns these headers as Node expects them: repeated ones as a list. */
export function headerRecord(headers: readonly Header[]): Record<string, string | string[]> {
  const record: Record<string, string | string[]> = {}
  for (const { name, value } of headers) {
    const before = record[name]
    record[name] = before === undefined ? value : [before, value].flat()
  }
  return record
}

/**
 * Sends a request, and sends it once again if it is refused and there are other credentials.
 *
 * @param send may be called twice
 * @param isRefused returns whether the answer is a 401
 * @throws CredentialError
 */
export async function withCredentials<Answer>(
  source: CredentialSource,
  send: (credentials: Credentials) => Promise<Answer>,
  isRefused: (answer: Answer) => boolean,
): Promise<Answer> {
  const credentials = await source.current()
  const answer = await send(credentials)
  if (!isRefused(answer)) return answer
  const renewed = await source.renew(credentials)
  return renewed === null ? answer : send(renewed)
}
