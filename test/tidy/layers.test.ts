/*
 * Goal: no module imports upward, and the pure modules stay pure.
 * Method: reads every source file and checks its imports and words against two tables.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from './markdown.ts'
import { productFolders, sourceFolders, sourcesUnder } from './sources.ts'

/** The modules that each module may import. All others are forbidden. */
const maySee: Readonly<Record<string, readonly string[]>> = {
  base: [],
  'raft/core': ['base'],
  'raft/state-machine': ['raft/core'],
  'raft/ports': ['base', 'raft/core', 'raft/state-machine'],
  'raft/consensus': ['base', 'raft/core', 'raft/ports'],
  'raft/log': ['base', 'raft/core', 'raft/ports'],
  'raft/transport': ['base', 'raft/core', 'raft/ports'],
  // Messages between the api thread, the raft thread and the log thread.
  'raft/protocol': ['base', 'raft/core', 'raft/ports', 'raft/consensus', 'raft/log', 'raft/transport'],
  // Runs on the raft thread.
  'raft/driver': ['base', 'raft/core', 'raft/ports', 'raft/protocol', 'raft/log', 'raft/transport'],
  // Runs on the api thread.
  'raft/node': ['base', 'raft/core', 'raft/ports', 'raft/consensus', 'raft/protocol', 'raft/transport'],
  // Starts the threads, or runs all actors on one thread.
  'raft/threads': [
    'base',
    'raft/core',
    'raft/ports',
    'raft/protocol',
    'raft/driver',
    'raft/node',
    'raft/log',
    'raft/transport',
  ],
  'raft/index': [
    'base',
    'raft/core',
    'raft/ports',
    'raft/consensus',
    'raft/log',
    'raft/transport',
    'raft/node',
    'raft/protocol',
    'raft/threads',
  ],
  'src/host': ['base'],
  'src/outward': ['base', 'src/api', 'src/config', 'src/host', 'src/pki'],
  // Node agents, Pods and Services that callers reach through a server.
  'src/backends': ['base', 'src/api', 'src/config', 'src/host', 'src/outward', 'src/pki'],
  'src/audit': ['base', 'src/api', 'src/config', 'src/outward', 'src/pki'],
  'src/config': ['base'],
  'src/api': ['base'],
  'src/store': ['base', 'raft/index'],
  'src/registry': ['base', 'src/api', 'src/store'],
  'src/resources': ['base', 'src/api', 'src/store', 'src/registry', 'src/pki'],
  'src/pki': ['base', 'src/config'],
  // The client side of authentication.
  'src/credentials': ['base', 'src/api', 'src/host', 'src/pki'],
  'src/auth': ['base', 'src/api', 'src/store', 'src/registry', 'src/pki', 'src/config', 'src/outward'],
  'src/admission': [
    'base',
    'src/api',
    'src/store',
    'src/registry',
    'src/config',
    'src/metrics',
    'src/outward',
    'src/pki',
  ],
  'src/conversion': ['base', 'src/api', 'src/registry', 'src/config', 'src/metrics', 'src/outward'],
  'src/controllers': [
    'base',
    'raft/index',
    'src/api',
    'src/store',
    'src/registry',
    'src/resources',
    'src/pki',
  ],
  // Encrypts objects between the registry and the replicated state.
  'src/encryption': ['base', 'src/api', 'src/store', 'src/registry', 'src/config', 'src/pki', 'src/metrics'],
  'src/key-ring': [
    'base',
    'raft/index',
    'src/api',
    'src/store',
    'src/registry',
    'src/auth',
    'src/config',
    'src/pki',
    'src/data-dir',
  ],
  // The files of a data directory, shared by the server and by `orchctl snapshot restore` and
  // `recover`.
  'src/data-dir': ['base', 'raft/index', 'src/api', 'src/config', 'src/pki'],
  'src/state-agreement': ['base', 'raft/index', 'src/store'],
  'src/health': ['base', 'raft/index', 'src/config', 'src/host', 'src/store', 'src/state-agreement'],
  'src/membership': [
    'base',
    'raft/index',
    'src/api',
    'src/store',
    'src/registry',
    'src/auth',
    'src/config',
    'src/host',
    'src/pki',
    'src/data-dir',
    'src/state-agreement',
    'src/health',
  ],
  'src/metrics': ['base', 'raft/index', 'src/host', 'src/store', 'src/state-agreement'],
  'src/backup': [
    'base',
    'raft/index',
    'src/store',
    'src/config',
    'src/host',
    'src/pki',
    'src/data-dir',
    'src/membership',
  ],
  'src/server': [
    'base',
    'raft/index',
    'src/api',
    'src/store',
    'src/registry',
    'src/auth',
    'src/key-ring',
    'src/membership',
    'src/health',
    'src/config',
    'src/audit',
    'src/backends',
    'src/metrics',
  ],
  // Builds a member from all of these. Only `src/main` and `fixtures` import it.
  'src/app': [
    'base',
    'raft/index',
    'src/api',
    'src/store',
    'src/registry',
    'src/resources',
    'src/auth',
    'src/key-ring',
    'src/encryption',
    'src/admission',
    'src/conversion',
    'src/controllers',
    'src/data-dir',
    'src/state-agreement',
    'src/health',
    'src/membership',
    'src/metrics',
    'src/config',
    'src/host',
    'src/pki',
    'src/outward',
    'src/audit',
    'src/backends',
    'src/server',
  ],
  'src/main': ['base', 'src/app', 'src/config', 'src/membership', 'src/host', 'src/pki'],
  // A client that must work against any server of this kind, so it imports no module of a server.
  'tools/verify': ['base', 'src/api', 'src/credentials'],
  // A client as well; its threads have clocks of their own.
  'bench/tool': ['base', 'src/api', 'src/host', 'src/credentials', 'tools/verify'],
  // Injects faults into clusters: from outside, and with a hook into the syncs of the log and the
  // wall clock of each thread.
  'tools/chaos': ['base', 'src/host'],
  'src/cli': [
    'base',
    'src/api',
    'src/config',
    'src/pki',
    'src/host',
    'src/credentials',
    'src/data-dir',
    'src/membership',
    'src/backup',
    'src/version',
    'tools/verify',
    'tools/chaos',
    'bench/tool',
  ],
}

/** Nothing but tests imports tests. */
const tests = ['test/']

/** Programs and modules that may import everything except what is listed. */
const composers: Readonly<Record<string, readonly string[]>> = {
  'bench/micro': tests,
  'bench/goal-table': tests,
  'bench/goals': tests,
  'bench/growth': tests,
  'bench/memory-of-objects': tests,
  'bench/other-cluster': tests,
  'bench/own-cluster': tests,
  'bench/programs': tests,
  'bench/run': tests,
  'bench/start-times': tests,
  'bench/starts': tests,
  'bench/timeline': tests,
  'bench/timeline-marks': tests,
  fixtures: ['src/cli', 'tools/', 'bench/', ...tests],
}

/**
 * The folders inside a module, lowest first, and the folders that each may import. Files directly
 * in the module are its top: they may import every folder, and no folder imports them.
 */
const maySeeWithin: Readonly<Record<string, readonly string[]>> = {
  'src/registry/shared': [],
  'src/registry/kinds': ['shared'],
  'src/registry/quota': ['shared', 'kinds'],
  'src/registry/representations': ['shared', 'kinds'],
  'src/registry/calls': ['shared', 'kinds', 'representations'],
  'src/registry/reading': ['shared', 'kinds', 'representations', 'calls'],
  'src/registry/writing': ['shared', 'kinds', 'representations', 'calls'],
  'src/registry/verbs': ['shared', 'kinds', 'representations', 'calls', 'reading', 'writing'],
  'src/server/http': [],
  'src/server/load': ['http'],
  'src/server/calls': ['http', 'load'],
  'src/server/metrics': ['http', 'calls'],
  'src/server/responses': ['http', 'load', 'calls'],
  'src/server/connect': ['http', 'load', 'calls', 'responses'],
  'src/server/discovery': ['http', 'responses'],
  'src/server/openapi': ['http', 'responses'],
  'src/server/plugins': ['http', 'load', 'calls', 'metrics', 'responses'],
  'src/server/routes': ['http', 'load', 'calls', 'responses', 'connect', 'discovery', 'openapi', 'plugins'],
}

/** Files that import only each other and that every module may import. */
const leaves = new Set(['src/version', 'src/build-info'])

type Ban = {
  readonly words: RegExp
  readonly instead: string
  /** Prefixes of the paths that must not contain the words. */
  readonly folders: readonly string[]
  readonly except: readonly string[]
  /** Applies to comments as well, which other bans ignore. */
  readonly inComments?: true
}

const everywhere = ['base/', 'raft/', 'src/', 'tools/', 'bench/tool/']
const bans: readonly Ban[] = [
  {
    words: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bprocess\.hrtime/,
    instead: 'the injected Clock',
    folders: everywhere,
    except: ['src/host/'],
  },
  { words: /\bMath\.random\(/, instead: 'the injected Random', folders: everywhere, except: [] },
  {
    words: /(?<![.\w])(setTimeout|setInterval)\(/,
    instead: 'the injected Clock',
    folders: everywhere,
    except: ['src/host/'],
  },
  { words: /\bprocess\.env\b/, instead: 'Config', folders: everywhere, except: ['src/host/'] },
  {
    words: /\brandomBytes\(|\brandomUUID\(/,
    instead: 'the injected Random',
    folders: everywhere,
    except: ['src/host/'],
  },
  {
    words: /\bmkdir(Sync)?\(.*recursive/,
    instead: 'makeDirectories of base: the recursive option of Node may never end, as in /proc',
    folders: [...everywhere, 'bench/', 'fixtures/'],
    except: [],
  },
  {
    words: /'node:fs|base\/make-directories/,
    instead: 'what its caller read',
    folders: ['raft/core/', 'src/api/', 'src/store/machine/'],
    except: [],
  },
  {
    words: /:\s*any\b|\bas any\b|<any>/,
    instead: 'unknown, then narrow it',
    folders: [...everywhere, 'test/', 'bench/', 'fixtures/'],
    except: [],
  },
  {
    inComments: true,
    words: /@ts-ignore|@ts-expect-error|eslint-disable/,
    instead: 'a program that the compiler accepts',
    folders: [...everywhere, 'test/', 'bench/', 'fixtures/'],
    except: [],
  },
  {
    inComments: true,
    words: /\b(TODO|FIXME|XXX)\b/,
    instead: 'finish it, or an issue',
    folders: [...everywhere, 'test/', 'bench/', 'fixtures/'],
    except: [],
  },
]

/** `raft/core/log.ts` belongs to `raft/core`; `src/app.ts` is a module of its own. */
function moduleOf(path: string): string {
  for (const whole of ['base', 'fixtures']) if (path.startsWith(`${whole}/`)) return whole
  return path.split('/').slice(0, 2).join('/').replace(/\.ts$/, '')
}

/** Returns a source without its comments, to which most bans do not apply. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[^:'"`\\])\/\/.*$/gm, '$1')
}

void test('no module imports one outside its allowed list', () => {
  const wrong: string[] = []
  let checked = 0
  for (const path of productFolders.flatMap(sourcesUnder)) {
    const importing = moduleOf(path)
    for (const [, target] of readFileSync(join(root, path), 'utf8').matchAll(
      /(?:from|import)\s*\(?\s*'(\.[^']+)'/g,
    )) {
      const seen = moduleOf(relative(root, join(root, dirname(path), target as string)))
      checked++
      if (seen === importing || leaves.has(seen)) continue
      const hidden = composers[importing]
      const isAllowed = hidden
        ? !hidden.some((prefix) => `${seen}/`.startsWith(prefix))
        : (maySee[importing] ?? []).includes(seen)
      if (!isAllowed) wrong.push(`${path} imports ${seen}`)
    }
  }
  assert.ok(checked > 100, 'imports were found')
  assert.deepEqual(wrong, [])
})

void test('the folders inside a module import each other in one order', () => {
  const wrong: string[] = []
  let checked = 0
  for (const path of [...sourcesUnder('raft'), ...sourcesUnder('src')]) {
    const within = maySeeWithin[dirname(path)]
    if (within === undefined) {
      const listed = Object.keys(maySeeWithin).some((folder) => moduleOf(folder) === moduleOf(path))
      if (listed && dirname(path) !== moduleOf(path)) wrong.push(`${path} is in a folder that is not listed`)
      continue
    }
    for (const [, target] of readFileSync(join(root, path), 'utf8').matchAll(
      /(?:from|import)\s*\(?\s*'(\.[^']+)'/g,
    )) {
      const seen = dirname(relative(root, join(root, dirname(path), target as string)))
      if (seen === dirname(path) || !seen.startsWith(moduleOf(path))) continue
      checked++
      if (!within.some((folder) => seen === `${moduleOf(path)}/${folder}`))
        wrong.push(`${path} imports ${seen}`)
    }
  }
  assert.ok(checked > 100, 'imports between folders were found')
  assert.deepEqual(wrong, [])
})

void test('no file uses a banned word', () => {
  const wrong: string[] = []
  for (const path of sourceFolders.flatMap(sourcesUnder)) {
    if (path.startsWith('test/tidy/')) continue
    const text = readFileSync(join(root, path), 'utf8')
    const [all, code] = [text.split('\n'), codeOf(text).split('\n')]
    for (const ban of bans) {
      if (!ban.folders.some((prefix) => path.startsWith(prefix))) continue
      if (ban.except.some((prefix) => path.startsWith(prefix))) continue
      const lines = ban.inComments === true ? all : code
      lines.forEach((line, at) => {
        if (ban.words.test(line)) wrong.push(`${path}:${at + 1} use ${ban.instead}: ${line.trim()}`)
      })
    }
  }
  assert.deepEqual(wrong, [])
})

void test('no source file of the product is longer than 400 lines', () => {
  const wrong: string[] = []
  for (const path of productFolders.flatMap(sourcesUnder)) {
    const lines = readFileSync(join(root, path), 'utf8').split('\n').length - 1
    if (lines > 400) wrong.push(`${path} has ${lines} lines`)
  }
  assert.deepEqual(wrong, [])
})
