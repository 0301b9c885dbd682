import type { Action, ResourceAction } from '../api/action.ts'
import { jsonText } from '../api/codec/json-text.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { formatMicroTime } from '../api/metadata/time.ts'
import type { AuditLevel, AuditStage } from './audit-policy.ts'

/** A request at one of its stages. */
export type AuditEvent = {
  readonly level: Exclude<AuditLevel, 'None'>
  readonly auditId: string
  readonly stage: AuditStage
  /** Path and query, as sent. */
  readonly requestUri: string
  readonly action: Action
  /** null: not authenticated. */
  readonly user: UserInfo | null
  /** The user that it acts as; null: itself. */
  readonly impersonatedUser: UserInfo | null
  readonly sourceIps: readonly string[]
  readonly userAgent: string
  /** The name of the object in the body, where the path does not contain it. */
  readonly named: NamedByBody
  /** null: not answered yet. */
  readonly responseStatus: JsonObject | null
  readonly requestObject: Json | null
  /** JSON text. */
  readonly responseObject: string | null
  /** Wall clock, ms since 1970. */
  readonly receivedMs: number
  readonly stageMs: number
  readonly annotations: ReadonlyMap<string, string>
}

export type NamedByBody = {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
}

export const nothingNamed: NamedByBody = Object.freeze({
  name: '',
  namespace: '',
  uid: '',
  resourceVersion: '',
})

export type AuditNames = {
  /** Such as `audit.orch.io/v1`. */
  readonly apiVersion: string
  /** The annotation of an event without its bodies. */
  readonly truncated: string
}

/**
 * Encodes an event as a line of JSON, members in upstream's order. Where it would be longer than
 * `bytesMax`, the bodies are omitted, which an annotation states.
 *
 * @source apiserver `pkg/apis/audit/v1/types.go`, `plugin/pkg/audit/truncate`
 */
export function eventLine(event: AuditEvent, names: AuditNames, bytesMax: number): Uint8Array {
  const { requestObject, responseObject } = event
  if (requestObject === null && responseObject === null) return Buffer.from(textOf(event, names))
  if ((responseObject?.length ?? 0) <= bytesMax) {
    const line = Buffer.from(textOf(event, names))
    if (line.byteLength <= bytesMax) return line
  }
  const annotations = new Map([...event.annotations, [names.truncated, 'true']])
  const short = { ...event, requestObject: null, responseObject: null, annotations }
  return Buffer.from(textOf(short, names))
}

function textOf(event: AuditEvent, names: AuditNames): string {
  const { action, user, sourceIps, userAgent, requestObject, responseObject, annotations } = event
  const head: JsonObject = {
    kind: 'Event',
    apiVersion: names.apiVersion,
    level: event.level,
    auditID: event.auditId,
    stage: event.stage,
    requestURI: event.requestUri,
    verb: action.verb,
    user: user === null ? {} : userOf(user),
    ...(event.impersonatedUser === null ? {} : { impersonatedUser: userOf(event.impersonatedUser) }),
    ...(sourceIps.length === 0 ? {} : { sourceIPs: sourceIps }),
    ...(userAgent === '' ? {} : { userAgent }),
    ...(action.kind === 'path' ? {} : { objectRef: objectRefOf(action, event.named) }),
    ...(event.responseStatus === null ? {} : { responseStatus: event.responseStatus }),
  }
  const tail: JsonObject = {
    requestReceivedTimestamp: formatMicroTime(event.receivedMs),
    stageTimestamp: formatMicroTime(event.stageMs),
    ...(annotations.size === 0 ? {} : { annotations: Object.fromEntries([...annotations].sort(byKey)) }),
  }
  const request = requestObject === null ? '' : `,"requestObject":${jsonText(requestObject)}`
  const response = responseObject === null ? '' : `,"responseObject":${responseObject}`
  return `${jsonText(head).slice(0, -1)}${request}${response},${jsonText(tail).slice(1)}\n`
}

function userOf({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

function objectRefOf(action: ResourceAction, named: NamedByBody): JsonObject {
  const members: JsonObject = {
    resource: action.resource,
    namespace: action.namespace || named.namespace,
    name: action.name || named.name,
    uid: named.uid,
    apiGroup: action.group,
    apiVersion: action.version,
    resourceVersion: named.resourceVersion,
    subresource: action.subresource,
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''))
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1
}
