import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, notSupported } from '../../api/errors/field-error.ts'
import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { readCertificateDer } from '../../pki/certificate.ts'
import { PkiError } from '../../pki/errors.ts'
import { pemBlocks } from '../../pki/pem.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/**
 * The status of a certificate signing request, and which path may change which part of it.
 *
 * @source spec 3.2
 */

const conditionsPath = 'status.conditions'
const certificatePath = 'status.certificate'

/** Conditions that cannot be removed once they are set. */
const lasting = ['Approved', 'Denied', 'Failed']
/** Conditions that only `/approval` may set. */
const decisions = ['Approved', 'Denied']

/**
 * Restores decisions that an update altered. Added and removed decisions stay, and are rejected by
 * `checkDecisions`.
 */
export function keepingDecisions(object: AnyObject, current: AnyObject): AnyObject {
  const conditions = [...conditionsOf(object)]
  for (const type of decisions) {
    const kept = ofType(current, type)
    if (kept.length !== ofType(object, type).length) continue
    for (const [at, condition] of conditions.entries()) {
      if (textMember(condition, 'type') === type) conditions[at] = kept[0] ?? condition
    }
  }
  if (conditions.length === 0) return object
  return { ...object, status: { ...objectMember(object, 'status'), conditions } }
}

/** Fills in the times of the conditions. @param now RFC 3339 */
export function withTimes(object: AnyObject, current: AnyObject, now: string): AnyObject {
  const status = objectMember(object, 'status')
  const conditions = conditionsOf(object)
  if (conditions.length === 0) return object
  const before = new Map<string, JsonObject>()
  for (const old of conditionsOf(current).toReversed()) before.set(typeAndStatus(old), old)
  const timed = conditions.map((condition): JsonObject => {
    const same = before.get(typeAndStatus(condition))
    const updated = textMember(condition, 'lastUpdateTime') || now
    const changed =
      textMember(condition, 'lastTransitionTime') || textMember(same ?? {}, 'lastTransitionTime') || now
    return { ...condition, lastUpdateTime: updated, lastTransitionTime: changed }
  })
  return { ...object, status: { ...status, conditions: timed } }
}

function typeAndStatus(condition: JsonObject): string {
  return JSON.stringify([textMember(condition, 'type'), textMember(condition, 'status')])
}

/** Checks the rules for every status. */
export function checkStatus(object: AnyObject, found: Findings): void {
  const conditions = conditionsOf(object)
  const decided = decisions.filter((type) => ofType(object, type).length > 0)
  const seen = new Set<string>()
  for (const [at, condition] of conditions.entries()) {
    const path = `${conditionsPath}[${at}]`
    const type = textMember(condition, 'type')
    if (seen.has(type)) found.add(duplicate(`${path}.type`, type))
    seen.add(type)
    if (decisions.includes(type) && decided.length > 1) {
      found.add(invalid(`${path}.type`, type, 'Approved and Denied conditions are mutually exclusive'))
    }
    const status = textMember(condition, 'status')
    const possible = lasting.includes(type) ? ['True'] : ['True', 'False', 'Unknown']
    if (status !== '' && !possible.includes(status))
      found.add(notSupported(`${path}.status`, status, possible))
  }
  checkCertificate(certificateOf(object), found)
}

function checkCertificate(certificate: string, found: Findings): void {
  if (certificate === '') return
  const wrong = certificateWords(Buffer.from(certificate, 'base64').toString('latin1'))
  if (wrong !== null) found.add(invalid(certificatePath, '<certificate data>', wrong))
}

/** Enough for a hundred certificates. Parsing each of them takes half a millisecond. */
const certificateBytesMax = 64 * 1024

function certificateWords(pem: string): string | null {
  try {
    const blocks = pemBlocks(pem)
    if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block'
    if (blocks.reduce((bytes, { der }) => bytes + der.byteLength, 0) > certificateBytesMax)
      return `must contain at most ${certificateBytesMax} bytes of certificates`
    for (const { label, hasHeaders, der } of blocks) {
      if (label !== 'CERTIFICATE') {
        return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`
      }
      if (hasHeaders) return 'no PEM block headers are permitted'
      readCertificateDer(der)
    }
    return null
  } catch (cause) {
    if (cause instanceof PkiError) return cause.message
    throw cause
  }
}

/** Checks which part of the status a path may change. */
export function checkDecisions(
  object: AnyObject,
  current: AnyObject,
  path: 'approval' | 'status',
  found: Findings,
): void {
  checkStatus(object, found)
  for (const type of lasting) {
    const [now, before] = [ofType(object, type), ofType(current, type)]
    const shown = JSON.stringify(type)
    if (now.length < before.length) {
      found.add(fieldForbidden(conditionsPath, `updates may not remove a condition of type ${shown}`))
    } else {
      if (path === 'status' && decisions.includes(type) && now.length > before.length) {
        found.add(fieldForbidden(conditionsPath, `updates may not add a condition of type ${shown}`))
      }
    }
  }
  checkSetting(object, current, found)
}

function checkSetting(object: AnyObject, current: AnyObject, found: Findings): void {
  const before = certificateOf(current)
  if (before === '' || before === certificateOf(object)) return
  found.add(fieldForbidden(certificatePath, 'updates may not modify existing certificate content'))
}

function conditionsOf(object: AnyObject): readonly JsonObject[] {
  return objectsMember(objectMember(object, 'status'), 'conditions')
}

function ofType(object: AnyObject, type: string): readonly JsonObject[] {
  return conditionsOf(object).filter((condition) => textMember(condition, 'type') === type)
}

function certificateOf(object: AnyObject): string {
  return textMember(objectMember(object, 'status'), 'certificate')
}
