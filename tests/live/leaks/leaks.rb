# Leaks in the way that is asked for: 2,000 times, then 6,000 times more, with a dump after each: ruby leaks.rb WAY OLD NEW
require 'objspace'
require 'set'

class Item
  def initialize(id)
    @id = id
    @name = "item number #{id} of some length, so that its text is no part of it"
    @list = [id.to_s, (id + 1).to_s]
  end
end

class Store
  ENTRIES = []
  @@by_id = {}
  @recent = []

  class << self
    attr_reader :recent
  end

  def self.by_id = @@by_id
end

class Hub
  def initialize = @listeners = []
  def on(&block) = @listeners << block
end

SESSIONS = Set.new
HUB = Hub.new
$jobs = Queue.new
# Healthy, and larger than what leaks at first.
TEMPLATES = (0...4000).to_h { |number| [number, "a template of some length, number #{number}"] }

def listen(number)
  item = Item.new(number)
  HUB.on { item }
end

ONE_WAY = {
  'constant' => ->(number) { Store::ENTRIES << Item.new(number) },
  'class-variable' => ->(number) { Store.by_id[number] = Item.new(number) },
  'class-instance-variable' => ->(number) { Store.recent << Item.new(number) },
  'set' => ->(number) { SESSIONS << Item.new(number) },
  'global' => ->(number) { $jobs << Item.new(number) },
  'thread-local' => ->(number) { (Thread.current[:items] ||= []) << Item.new(number) },
  'listener' => ->(number) { listen(number) },
  'bounded' => lambda { |number|
    Store::ENTRIES.shift if Store::ENTRIES.size > 1000
    Store::ENTRIES << Item.new(number)
  }
}.fetch(ARGV[0])

def dump(path)
  GC.start
  File.open(path, 'w') { |file| ObjectSpace.dump_all(output: file) }
end

2000.times { |number| ONE_WAY.call(number) }
dump(ARGV[1])
6000.times { |number| ONE_WAY.call(number + 2000) }
dump(ARGV[2])
