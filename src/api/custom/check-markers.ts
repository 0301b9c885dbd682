import { fieldForbidden, invalid, notSupported, required } from '../errors/field-error.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, textMember, textsMember } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt, mapKey, member, spellPath } from '../schema/path.ts'
import type { Findings } from '../errors/findings.ts'
import type { MarkerNames } from './structural.ts'

/** Checks the requirements of the extension markers of one schema. @source as `checkKeywords` */
export function checkMarkers(json: JsonObject, at: Path, markers: MarkerNames, findings: Findings): void {
  if (memberOf(json, markers.preserveUnknown) === false) {
    findings.add(invalid(fieldAt(at, markers.preserveUnknown), false, 'must be true or undefined'))
  }
  checkKind(json, at, { marker: markers.mapType, type: 'object', known: ['atomic', 'granular'] }, findings)
  checkKind(json, at, { marker: markers.listType, type: 'array', known: ['atomic', 'set', 'map'] }, findings)
  const listType = textMember(json, markers.listType)
  const keys = textsMember(json, markers.listMapKeys)
  if (keys.length > 0 && listType !== 'map') {
    const words = `must be map if ${markers.listMapKeys} is non-empty`
    const field = fieldAt(at, markers.listType)
    findings.add(listType === '' ? required(field, words) : invalid(field, listType, words))
  }
  const items = memberOf(json, 'items')
  if (listType === 'set' && isJsonObject(items)) checkSetItems(items, member(at, 'items'), markers, findings)
  if (listType === 'map') {
    if (keys.length === 0) {
      const words = `must not be empty if ${markers.listType} is map`
      findings.add(required(fieldAt(at, markers.listMapKeys), words))
    }
    if (isJsonObject(items)) checkMapItems({ items, keys }, at, markers, findings)
    else if (!isJsonList(items)) {
      findings.add(required(fieldAt(at, 'items'), `must have a schema if ${markers.listType} is map`))
    }
  }
}

type KindMarker = { readonly marker: string; readonly type: string; readonly known: readonly string[] }

function checkKind(
  json: JsonObject,
  at: Path,
  { marker, type: wanted, known }: KindMarker,
  findings: Findings,
): void {
  const given = textMember(json, marker)
  if (given === '') return
  const type = textMember(json, 'type')
  const words = `must be ${wanted} if ${marker} is specified`
  if (type === '') findings.add(required(fieldAt(at, 'type'), words))
  else if (type !== wanted) findings.add(invalid(fieldAt(at, 'type'), type, words))
  if (!known.includes(given)) findings.add(notSupported(fieldAt(at, marker), given, known))
}

/** Elements of a set are compared as a whole, so lists and maps inside must be atomic. */
function checkSetItems(items: JsonObject, at: Path, markers: MarkerNames, findings: Findings): void {
  const type = textMember(items, 'type')
  const words = `must be atomic as item of a list with ${markers.listType}=set`
  const listType = textMember(items, markers.listType)
  if (type === 'array' && listType !== '' && listType !== 'atomic') {
    findings.add(invalid(fieldAt(at, markers.listType), listType, words))
  }
  const mapType = textMember(items, markers.mapType)
  if (type === 'object' && mapType !== 'atomic') {
    findings.add(invalid(fieldAt(at, markers.mapType), mapType, words))
  }
  checkNotNullable(items, at, `cannot be nullable when ${markers.listType} is set`, findings)
}

function checkMapItems(
  { items, keys }: { readonly items: JsonObject; readonly keys: readonly string[] },
  at: Path,
  markers: MarkerNames,
  findings: Findings,
): void {
  const place = member(at, 'items')
  const type = textMember(items, 'type')
  if (type !== 'object') {
    const words = `must be object if parent array's ${markers.listType} is map`
    findings.add(invalid(fieldAt(place, 'type'), type, words))
  }
  checkNotNullable(items, place, `cannot be nullable when ${markers.listType} is map`, findings)
  if (new Set(keys).size < keys.length) {
    findings.add(invalid(fieldAt(at, markers.listMapKeys), keys, 'must not contain duplicate entries'))
  }
  const properties = objectMember(items, 'properties')
  const isRequired = new Set(textsMember(items, 'required'))
  for (const key of new Set(keys)) {
    const property = memberOf(properties, key)
    if (!isJsonObject(property)) {
      findings.add(
        invalid(fieldAt(at, markers.listMapKeys), keys, 'entries must all be names of item properties'),
      )
      continue
    }
    const keyAt = mapKey(member(place, 'properties'), key)
    const keyType = textMember(property, 'type')
    if (keyType === 'array' || keyType === 'object') {
      const words = `must be a scalar type if parent array's ${markers.listType} is map`
      findings.add(invalid(fieldAt(keyAt, 'type'), keyType, words))
    }
    const isKey = `this property is in ${markers.listMapKeys}, so it`
    if (!isRequired.has(key) && (memberOf(property, 'default') ?? null) === null) {
      findings.add(
        required(fieldAt(keyAt, 'default'), `${isKey} must have a default or be a required property`),
      )
    }
    checkNotNullable(property, keyAt, `${isKey} cannot be nullable`, findings)
  }
}

function checkNotNullable(json: JsonObject, at: Path, words: string, findings: Findings): void {
  if (memberOf(json, 'nullable') === true) findings.add(fieldForbidden(`${spellPath(at)}.nullable`, words))
}
