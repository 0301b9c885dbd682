import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { CompiledWebhook } from './compiled-webhook.ts'

/**
 * A webhook whose backend writes through this API while it handles a call may be called for that
 * write again, and so on until the first call times out. The webhooks whose calls led to a request
 * are therefore passed along in the trace context, which instrumented HTTP clients repeat: as links
 * in an entry of the header `tracestate`. A webhook in the chain of a request is not called for it.
 * A link is valid until its call times out, so that work that a backend queued for later is not
 * taken for a loop. A backend that does not pass the trace context on is stopped by the limit of
 * calls in progress.
 *
 * Any client can send the header, and a webhook that is not called may count as one that allows. So
 * a member signs its links with a key that it makes at its start, and accepts only these. A loop
 * through several members ends when it comes back to one of them.
 *
 * @source W3C Trace Context
 */

/** The entry in `tracestate`. */
const ENTRY = 'orch'
const HASH_LENGTH = 12
/** Webhooks in a chain. A longer chain counts as a loop. */
export const CHAIN_LENGTH_MAX = 16
const HEADER_LENGTH_MAX = 2048
/** Maximum number of links that are passed on: the newest ones. They fit into the header. */
const LINKS_MAX = 32
const SIGNATURE_LENGTH = 16

/**
 * Returns the links of the webhooks whose calls are in progress and led to a request, from its
 * header.
 *
 * @param wallMs now
 */
export function callChain(tracestate: string, wallMs: number): readonly string[] {
  if (tracestate === '' || tracestate.length > HEADER_LENGTH_MAX) return []
  for (const entry of tracestate.split(',')) {
    const [name, value = ''] = entry.trim().split('=')
    if (name === ENTRY) return value.split('-').filter((link) => LINK.test(link) && endMsOf(link) > wallMs)
  }
  return []
}

/** A hash, the wall-clock time when the call has timed out, in base 36, and a signature of both. */
const LINK = new RegExp(`^[0-9a-f]{${HASH_LENGTH}}\\.[0-9a-z]{1,10}\\.[0-9a-f]{${SIGNATURE_LENGTH}}$`)

function endMsOf(link: string): number {
  return Number.parseInt(link.slice(HASH_LENGTH + 1, -SIGNATURE_LENGTH - 1), 36)
}

/** @param key of this member: links that it did not sign do not count */
export function isLoop(
  chain: readonly string[],
  webhook: Pick<CompiledWebhook, 'id'>,
  key: Uint8Array,
): boolean {
  const signed = chain.filter((link) => {
    const wanted = signedLink(link.slice(0, -SIGNATURE_LENGTH - 1), key)
    return timingSafeEqual(Buffer.from(link), Buffer.from(wanted))
  })
  const own = `${hashOf(webhook)}.`
  return signed.length >= CHAIN_LENGTH_MAX || signed.some((link) => link.startsWith(own))
}

function signedLink(content: string, key: Uint8Array): string {
  const signature = createHmac('sha256', key).update(content).digest('hex')
  return `${content}.${signature.slice(0, SIGNATURE_LENGTH)}`
}

/** The last link of each webhook, which calls within a short time share. */
const ownLinks = new WeakMap<Pick<CompiledWebhook, 'id'>, OwnLink>()

type OwnLink = { readonly endsWallMs: number; readonly key: Uint8Array; readonly link: string }

/** Ends of calls are rounded up to multiples of this many ms, so that few links are signed. */
const LINK_MS = 1000

function ownLink(webhook: Pick<CompiledWebhook, 'id'>, callEndsMs: number, key: Uint8Array): string {
  const endsWallMs = Math.ceil(callEndsMs / LINK_MS) * LINK_MS
  const known = ownLinks.get(webhook)
  if (known?.endsWallMs === endsWallMs && known.key === key) return known.link
  const link = signedLink(`${hashOf(webhook)}.${endsWallMs.toString(36)}`, key)
  ownLinks.set(webhook, { endsWallMs, key, link })
  return link
}

export type TraceContext = { readonly traceparent: string; readonly tracestate: string }

/**
 * Returns the trace headers of the call of a webhook.
 *
 * @param trace of the request; with an empty or malformed `traceparent` another trace begins
 * @param call the chain of the request, when the call will have timed out, 32 hexadecimal digits
 * for a trace that begins here, and the key of this member
 */
export function traceHeaders(
  { traceparent, tracestate }: TraceContext,
  webhook: Pick<CompiledWebhook, 'id'>,
  call: {
    readonly chain: readonly string[]
    readonly endsWallMs: number
    readonly traceId: string
    readonly key: Uint8Array
  },
): TraceContext {
  const { chain, endsWallMs, traceId, key } = call
  const own = ownLink(webhook, endsWallMs, key)
  const links = [...chain, own].slice(-LINKS_MAX).join('-')
  return {
    traceparent: TRACE_PARENT.test(traceparent) ? traceparent : `00-${traceId}-${traceId.slice(16)}-00`,
    tracestate: [`${ENTRY}=${links}`, ...otherEntries(tracestate)].join(','),
  }
}

function otherEntries(tracestate: string): readonly string[] {
  if (tracestate === '') return []
  return tracestate
    .slice(0, HEADER_LENGTH_MAX)
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => TRACE_ENTRY.test(entry) && !entry.startsWith(`${ENTRY}=`))
    .slice(0, 31)
}

const TRACE_PARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
const TRACE_ENTRY = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x21-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/

/** The hash of each webhook, computed once. */
const hashes = new WeakMap<Pick<CompiledWebhook, 'id'>, string>()

function hashOf(webhook: Pick<CompiledWebhook, 'id'>): string {
  let hash = hashes.get(webhook)
  if (hash === undefined) {
    hash = createHash('sha256').update(webhook.id).digest('hex').slice(0, HASH_LENGTH)
    hashes.set(webhook, hash)
  }
  return hash
}
