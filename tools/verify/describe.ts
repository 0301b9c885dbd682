import { assertNever } from '../../base/assert.ts'
import type { EvidenceLine } from './finding.ts'
import type { Answer, Call, Copy, Mode, Request, Version, Watch, WatchEvent } from './history.ts'
import { verifyLimits } from './limits.ts'

/** Returns the lines in order of time; only the last ones when there are too many. */
export function byTime(witnesses: readonly EvidenceLine[]): readonly EvidenceLine[] {
  return [...witnesses].sort((a, b) => a.atMs - b.atMs).slice(-verifyLimits.witnessesMax)
}

export function callEvidence(call: Call): EvidenceLine {
  const { client, member, beginMs, endMs } = call
  const took = `[${seconds(beginMs)} to ${seconds(endMs)}]`
  return {
    atMs: beginMs,
    text: `${client} at ${member} ${took}: ${wordsOf(call.request)} -> ${answerText(call.answer)}`,
  }
}

export function eventEvidence(watch: Watch, event: WatchEvent): EvidenceLine {
  const object = event.version === null ? '' : ` ${versionText(event.version)}`
  return {
    atMs: event.atMs,
    text: `${watchText(watch)} [${seconds(event.atMs)}]: ${event.type} at revision ${event.revision}${object}`,
  }
}

export function watchEvidence(watch: Watch): EvidenceLine {
  const how = watch.resumed ? 'continues' : 'begins'
  const text = `${watchText(watch)} [${seconds(watch.beginMs)}]: ${how} after revision ${watch.after}`
  return { atMs: watch.beginMs, text }
}

export function copyEvidence({ member, revision, atMs, versions, digest }: Copy): EvidenceLine {
  const text = `${member} [${seconds(atMs)}]: ${versions.length} objects at revision ${revision}, digest of the items ${digest}`
  return { atMs, text }
}

export function versionText({ name, revision, token }: Version): string {
  return `${name} version ${revision} (${token === '' ? 'not of this run' : `write ${token}`})`
}

export function watchText({ watcher, member }: Watch): string {
  return `${watcher} at ${member}`
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`
}

function wordsOf(request: Request): string {
  switch (request.kind) {
    case 'create':
      return `create ${request.name} as write ${request.token}`
    case 'update': {
      const { expected } = request
      const onto = expected === null ? 'any version' : `version ${expected.revision}`
      return `update ${request.name} from ${onto} to write ${request.token}`
    }
    case 'delete': {
      const { expected } = request
      return `delete ${request.name}${expected === null ? '' : ` if it is version ${expected.revision}`}`
    }
    case 'get':
      return `get ${request.name}, ${modeText(request.mode)}`
    case 'list': {
      const { limit, page, mode } = request
      return `list, ${modeText(mode)}${limit === null ? '' : `, page ${page + 1} of ${limit} each`}`
    }
    default:
      return assertNever(request)
  }
}

export function modeText(mode: Mode): string {
  switch (mode.kind) {
    case 'most-recent':
      return 'most recent'
    case 'lease':
      return 'by a lease'
    case 'log':
      return 'through the log'
    case 'bounded':
      return `at most ${mode.boundMs} ms behind`
    case 'any':
      return 'any version'
    case 'not-older-than':
      return `not older than ${mode.revision}`
    case 'exact':
      return `exactly at ${mode.revision}`
    default:
      return assertNever(mode)
  }
}

function answerText(answer: Answer): string {
  switch (answer.kind) {
    case 'object':
      return versionText(answer.version)
    case 'deleted':
      return 'deleted'
    case 'list': {
      const { revision, versions, more } = answer
      return `${versions.length} objects at revision ${revision}${more ? ', more to come' : ''}`
    }
    case 'refused':
      return `refused: ${answer.code} ${answer.reason}`
    case 'unknown':
      return `unknown outcome: ${answer.why}`
    default:
      return assertNever(answer)
  }
}
